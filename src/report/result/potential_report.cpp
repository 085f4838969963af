#include "report/result/potential_report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/csv_text.hpp"
#include "base/text/text_bar.hpp"
#include "report/result/json_text.hpp"
#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

std::string speedup_text(const Potential& potential) {
  if (potential.macs == 0) return "";
  const auto speedup = potential.speedup();
  return speedup ? fmt::format("{:.2f}", *speedup) : "inf";
}

const OpPotential* find_op(const LayerPotential& layer, Operation op) {
  for (const OpPotential& candidate : layer.ops) {
    if (candidate.op == op) return &candidate;
  }
  return nullptr;
}

std::vector<TableColumn> zero_columns() {
  return {{.title = "A", .group = "zeros %"},
          {.title = "W", .group = "zeros %"},
          {.title = "G", .group = "zeros %"}};
}

std::vector<TableColumn> potential_columns() {
  std::vector<TableColumn> columns;
  columns.reserve(kOperations.size() + 1);
  for (const Operation op : kOperations) {
    columns.push_back({.title = std::string(operation_name(op)), .group = "potential speedup"});
  }
  columns.push_back({.title = "all", .group = "potential speedup"});
  return columns;
}

// The potential of all operations as a bar, beside its number.
TableColumn bar_column() { return {.title = "", .align = Align::kLeft, .group = "potential speedup"}; }

Potential whole_potential(const LayerPotential& layer) {
  Potential all;
  for (const OpPotential& op : layer.ops) all.add(op.macs, 1);
  return all;
}

void append(std::vector<TableColumn>& columns, std::vector<TableColumn> more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

void append_totals(std::vector<std::string>& cells, const PotentialTotals& totals) {
  for (const Potential& op : totals.ops) cells.push_back(speedup_text(op));
  cells.push_back(speedup_text(totals.all));
}

// ---- JSON ----

std::string zeros_json(const LayerPotential& entry) {
  JsonLine line;
  for (const Operand role : kOperands) line.field(role_text(role), entry.zero_share(role));
  return line.text();
}

std::string potential_fields(JsonLine line, const Potential& potential) {
  line.field("macs", potential.macs)
      .field("remaining_macs", potential.remaining)
      .field("effectual_macs", potential.effectual);
  const auto speedup = potential.speedup();
  line.raw("potential", speedup ? json_number(*speedup) : "null");
  return line.text();
}

// As a trace's list of layers has it.
std::int64_t layer_batch(const LayerShape& shape) {
  return shape.kind == LayerKind::kMatmul ? shape.groups : shape.n;
}

std::string layer_json(const LayerPotential& entry) {
  const LayerShape& shape = entry.shape;
  const bool conv = shape.kind == LayerKind::kConv2d, matmul = shape.kind == LayerKind::kMatmul;
  const auto pair = [](Size2 size) { return fmt::format("[{}, {}]", size.h, size.w); };
  JsonLine head;
  head.field("name", entry.name)
      .field("type", layer_kind_name(shape.kind))
      .field("shape", shape.describe())
      .field("batch", layer_batch(shape))
      .field("in_channels", matmul ? shape.c_per_group() : shape.c)
      .field("out_channels", matmul ? shape.k_per_group() : shape.k);
  if (conv) {
    head.raw("kernel", pair(shape.kernel))
        .raw("stride", pair(shape.stride))
        .raw("padding", pair(shape.padding))
        .raw("dilation", pair(shape.dilation))
        .field("groups", shape.groups)
        .raw("input_hw", pair(shape.input))
        .raw("output_hw", pair(shape.output));
  } else {
    if (matmul) head.field("rows", shape.n);
    head.field("steps", entry.steps);
    if (shape.sequence > 1) head.raw("recurrent", "true");
  }
  head.field("batch_scale", entry.batch_scale).field("macs", shape.macs()).raw("zeros", zeros_json(entry));
  std::string ops;
  for (const OpPotential& op : entry.ops) {
    JsonLine line;
    line.field("op", operation_name(op.op)).field("targeted", role_text(op.targeted));
    ops += fmt::format("{}\n          {}", ops.empty() ? "" : ",", potential_fields(line, op.macs));
  }
  head.raw("ops", "[" + ops + "\n        ]");
  return head.text();
}

std::string totals_json(const PotentialTotals& totals) {
  std::string text = "{";
  for (const Operation op : kOperations) {
    text += fmt::format("\n        \"{}\": {},", operation_name(op),
                        potential_fields(JsonLine(), totals.ops[static_cast<std::size_t>(op)]));
  }
  return text + fmt::format("\n        \"all\": {}\n      }}", potential_fields(JsonLine(), totals.all));
}

std::string trace_json(const Inspection& inspection) {
  const TraceInfo& info = inspection.info;
  std::string text = "    {\n";
  const auto field = [&](std::string_view name, std::string_view json) {
    text += fmt::format("      \"{}\": {},\n", name, json);
  };
  const auto number = [&](std::string_view name, const auto& optional) {
    if (optional) field(name, json_number(static_cast<double>(*optional)));
  };
  field("trace", json_string(inspection.path));
  field("model", json_string(info.model));
  if (!info.dataset.empty()) field("dataset", json_string(info.dataset));
  number("progress", info.progress);
  number("epoch", info.epoch);
  number("accuracy", info.accuracy);
  number("loss", info.loss);
  number("samples", info.samples);
  number("recorded_share", info.recorded_share);
  if (!info.left_out.empty()) field("left_out", left_out_list_json(info));
  field("batch", std::to_string(inspection.batch));
  JsonLine zeros;
  for (const Operand role : kOperands) zeros.field(role_text(role), inspection.potential.zero_share(role));
  field("zeros_by_macs", zeros.text());
  std::string layers;
  for (const LayerPotential& layer : inspection.potential.layers) {
    layers += fmt::format("{}\n        {}", layers.empty() ? "" : ",", layer_json(layer));
  }
  field("layers", "[" + layers + "\n      ]");
  field("total", totals_json(inspection.potential.recorded));
  return text + fmt::format("      \"per_batch\": {}\n    }}", totals_json(inspection.potential.per_batch));
}

}  // namespace

std::string inspection_table(const Inspection& inspection, const TextStyle& style) {
  std::vector<TableColumn> columns{{.title = "layer", .align = Align::kLeft},
                                   {.title = "shape", .align = Align::kLeft},
                                   {.title = "MACs"}};
  append(columns, zero_columns());
  append(columns, potential_columns());
  if (style.bars) columns.push_back(bar_column());
  TextTable table(std::move(columns));
  double most = 1;
  for (const LayerPotential& entry : inspection.potential.layers)
    most = std::max(most, whole_potential(entry).speedup().value_or(0));
  for (const LayerPotential& entry : inspection.potential.layers) {
    std::vector<std::string> cells{entry.name, fmt::format("{} n{}", entry.shape.describe(), entry.shape.n),
                                   short_number(static_cast<double>(entry.shape.macs()))};
    if (entry.shape.is_matrix()) cells[1] = entry.shape.describe();
    for (const Operand role : kOperands) cells.push_back(percent_text(entry.zero_share(role)));
    for (const Operation op : kOperations) {
      const OpPotential* found = find_op(entry, op);
      // Which operand's zeros: the letter beside the number.
      cells.push_back(found == nullptr
                          ? ""
                          : fmt::format("{} {}", speedup_text(found->macs), role_text(found->targeted)));
    }
    const Potential all = whole_potential(entry);
    cells.push_back(speedup_text(all));
    if (style.bars) cells.push_back(bar_text(all.speedup().value_or(most), most));
    table.add_row(std::move(cells));
  }
  table.add_rule();
  const auto add_totals = [&](const std::string& name, const PotentialTotals& totals, bool zeros) {
    std::vector<std::string> cells{name, "", short_number(totals.ops[0].macs)};
    for (const Operand role : kOperands)
      cells.push_back(zeros ? percent_text(inspection.potential.zero_share(role)) : "");
    append_totals(cells, totals);
    if (style.bars) cells.push_back(bar_text(totals.all.speedup().value_or(0), most));
    table.add_row(std::move(cells));
  };
  const std::string coverage = total_coverage(inspection.info);
  add_totals("as recorded" + coverage, inspection.potential.recorded, false);
  add_totals(fmt::format("batch of {}{}", inspection.batch, coverage), inspection.potential.per_batch, true);
  return bold_text(printable(trace_title(inspection.info)), style) + "\n" + table.render(style);
}

std::string inspection_summary(const std::vector<Inspection>& inspections, const TextStyle& style) {
  std::vector<TableColumn> columns{
      {.title = "trace", .align = Align::kLeft}, {.title = "layers"}, {.title = "MACs per batch"}};
  append(columns, zero_columns());
  append(columns, potential_columns());
  if (style.bars) columns.push_back(bar_column());
  TextTable table(std::move(columns));
  double most = 1;
  for (const Inspection& inspection : inspections)
    most = std::max(most, inspection.potential.per_batch.all.speedup().value_or(0));
  for (const Inspection& inspection : inspections) {
    const TracePotential& potential = inspection.potential;
    std::vector<std::string> cells{trace_title(inspection.info), fmt::format("{}", potential.layers.size()),
                                   short_number(potential.per_batch.ops[0].macs)};
    for (const Operand role : kOperands) cells.push_back(percent_text(potential.zero_share(role)));
    append_totals(cells, potential.per_batch);
    if (style.bars) cells.push_back(bar_text(potential.per_batch.all.speedup().value_or(0), most));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string inspections_to_json(const std::vector<Inspection>& inspections) {
  std::vector<std::string> items;
  items.reserve(inspections.size());
  for (const auto& entry : inspections) items.push_back(trace_json(entry));
  return json_document("traces", items);
}

std::string inspections_to_csv(const std::vector<Inspection>& inspections) {
  std::string text =
      "trace,model,progress,recorded_share,left_out,layer,type,shape,batch,batch_scale,zeros_A,zeros_W,zeros_"
      "G,op,targeted,macs,"
      "remaining_macs,effectual_macs,potential\n";
  for (const Inspection& inspection : inspections) {
    const TraceInfo& info = inspection.info;
    const std::string head =
        fmt::format("{},{},{},{}", csv_text(inspection.path), csv_text(info.model),
                    info.progress ? json_number(*info.progress) : "", coverage_cells(info));
    for (const LayerPotential& entry : inspection.potential.layers) {
      for (const OpPotential& op : entry.ops) {
        const auto speedup = op.macs.speedup();
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", head, csv_text(entry.name),
                            layer_kind_name(entry.shape.kind), csv_text(entry.shape.describe()),
                            layer_batch(entry.shape), json_number(entry.batch_scale),
                            json_number(entry.zero_share(Operand::kA)),
                            json_number(entry.zero_share(Operand::kW)),
                            json_number(entry.zero_share(Operand::kG)), operation_name(op.op),
                            role_text(op.targeted), json_number(op.macs.macs), json_number(op.macs.remaining),
                            json_number(op.macs.effectual), speedup ? json_number(*speedup) : "");
      }
    }
  }
  return text;
}

}  // namespace lacuna
