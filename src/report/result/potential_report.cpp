#include "report/result/potential_report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/csv.hpp"
#include "base/text/text_table.hpp"
#include "report/result/result_tables.hpp"
#include "report/result/run_fields.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

std::string speedup_text(const Potential& potential,
                         std::optional<double> (Potential::*of)() const = &Potential::speedup) {
  if (potential.macs == 0) return "";
  const auto speedup = (potential.*of)();
  return speedup ? fmt::format("{:.2f}", *speedup) : "inf";
}

const OpPotential* find_op(const LayerPotential& layer, Operation op) {
  for (const OpPotential& candidate : layer.ops) {
    if (candidate.op == op) return &candidate;
  }
  return nullptr;
}

// The tensors whose zeros are shown.
std::vector<TraceTensor> shown_tensors(bool with_a_forward) {
  std::vector<TraceTensor> shown(kTraceTensors.begin(), kTraceTensors.end());
  if (!with_a_forward) std::erase_if(shown, [](TraceTensor which) { return which.forward; });
  return shown;
}

// The `first` columns, then zeros and potential speedups, without unneeded results as well if there are any;
// that of all operations also as a bar.
TextTable make_table(std::vector<TableColumn> first, const std::vector<TraceTensor>& tensors, bool unneeded,
                     const TextStyle& style) {
  constexpr const char* kHeading = "potential speedup";
  std::vector<std::string> names;
  for (const TraceTensor which : tensors) names.emplace_back(which.name());
  std::vector<ColumnGroup> groups{{"zeros %", names},
                                  {kHeading, {"forward", "input_grad", "weight_grad", "all"}}};
  if (unneeded) groups.push_back({"needed only", {"input_grad", "all"}});
  std::vector<TableColumn> columns = with_groups(std::move(first), groups);
  if (style.bars) columns.push_back({"", Align::kLeft, kHeading});
  return TextTable(std::move(columns));
}

Potential whole_potential(const LayerPotential& layer) {
  Potential all;
  for (const OpPotential& op : layer.ops) all.add(op.macs, 1);
  return all;
}

// Speedups without the results that nobody needs.
void append_needed(std::vector<std::string>& cells, const Potential& input_grad, const Potential& all) {
  for (const Potential* each : {&input_grad, &all})
    cells.push_back(speedup_text(*each, &Potential::needed_speedup));
}

void append_totals(std::vector<std::string>& cells, const PotentialTotals& totals, bool unneeded) {
  for (const Potential& op : totals.ops) cells.push_back(speedup_text(op));
  cells.push_back(speedup_text(totals.all));
  if (unneeded) append_needed(cells, totals.ops[Operation::kInputGrad], totals.all);
}

// ---- JSON ----

// The share of zeros of each tensor, of a layer or of a whole trace.
template <typename Of>
Json zeros_json(const Of& of, bool with_a_forward) {
  Json object;
  for (const TraceTensor which : shown_tensors(with_a_forward))
    object[which.name()] = number_json(of.zero_share(which));
  return object;
}

void append_potential(Json& object, const Potential& potential) {
  object["macs"] = number_json(potential.macs);
  object["remaining_macs"] = number_json(potential.remaining);
  object["effectual_macs"] = number_json(potential.effectual);
  const auto speedup = potential.speedup();
  object["potential"] = speedup ? number_json(*speedup) : Json();
  object["needed_macs"] = number_json(potential.needed);
  const auto needed = potential.needed_speedup();
  object["needed_potential"] = needed ? number_json(*needed) : Json();
}

// The batch in a trace's list of layers.
std::int64_t layer_batch(const LayerShape& shape) {
  return shape.kind == LayerKind::kMatmul ? shape.groups : shape.n;
}

Json layer_json(const LayerPotential& entry) {
  const LayerShape& shape = entry.shape;
  const bool matmul = shape.kind == LayerKind::kMatmul;
  const auto pair = [](Size2 size) { return Json{size.h, size.w}; };
  Json object{{"name", entry.name},
              {"type", layer_kind_name(shape.kind)},
              {"shape", shape.describe()},
              {"batch", layer_batch(shape)},
              {"in_channels", matmul ? shape.c_per_group() : shape.c},
              {"out_channels", matmul ? shape.k_per_group() : shape.k}};
  if (shape.kind == LayerKind::kConv2d) {
    object["kernel"] = pair(shape.kernel);
    object["stride"] = pair(shape.stride);
    object["padding"] = pair(shape.padding);
    object["dilation"] = pair(shape.dilation);
    object["groups"] = shape.groups;
    object["input_hw"] = pair(shape.input);
    object["output_hw"] = pair(shape.output);
  } else {
    if (matmul) object["rows"] = shape.n;
    object["steps"] = entry.steps;
    if (shape.sequence > 1) object["recurrent"] = true;
  }
  object["batch_scale"] = number_json(entry.batch_scale);
  object["macs"] = shape.macs();
  object["zeros"] = zeros_json(entry, entry.a_forward_zeros.has_value());
  Json& ops = object["ops"] = Json::array();
  for (const OpPotential& op : entry.ops) {
    Json& item =
        ops.emplace_back(Json{{"op", operation_name(op.op)}, {"targeted", operand_name(op.targeted)}});
    append_potential(item, op.macs);
  }
  return object;
}

Json totals_json(const PotentialTotals& totals) {
  Json object;
  for (const Operation op : kOperations)
    append_potential(object[std::string(operation_name(op))], totals.ops[op]);
  append_potential(object["all"], totals.all);
  return object;
}

Json trace_json(const Inspection& inspection) {
  const TracePotential& potential = inspection.potential;
  Json object = step_json(inspection.path, inspection.info, inspection.batch);
  object["zeros_by_macs"] = zeros_json(potential, potential.has_a_forward());
  Json& layers = object["layers"] = Json::array();
  for (const LayerPotential& layer : potential.layers) layers.push_back(layer_json(layer));
  object["total"] = totals_json(potential.recorded);
  object["per_batch"] = totals_json(potential.per_batch);
  return object;
}

}  // namespace

std::string inspection_table(const Inspection& inspection, const TextStyle& style) {
  const std::vector<TraceTensor> tensors = shown_tensors(inspection.potential.has_a_forward());
  const bool unneeded = inspection.potential.has_unneeded();
  TextTable table =
      make_table({{"layer", Align::kLeft}, {"shape", Align::kLeft}, {"MACs"}}, tensors, unneeded, style);
  double most = 1;
  for (const LayerPotential& entry : inspection.potential.layers)
    most = std::max(most, whole_potential(entry).speedup().value_or(0));
  for (const LayerPotential& entry : inspection.potential.layers) {
    std::vector<std::string> cells{entry.name, fmt::format("{} n{}", entry.shape.describe(), entry.shape.n),
                                   short_number(static_cast<double>(entry.shape.macs()))};
    if (entry.shape.is_matrix()) cells[1] = entry.shape.describe();
    for (const TraceTensor which : tensors) cells.push_back(percent_text(entry.zero_share(which)));
    for (const Operation op : kOperations) {
      const OpPotential* found = find_op(entry, op);
      // The letter next to the number names the operand whose zeros are skipped.
      cells.push_back(found == nullptr
                          ? ""
                          : fmt::format("{} {}", speedup_text(found->macs), operand_name(found->targeted)));
    }
    const Potential all = whole_potential(entry);
    cells.push_back(speedup_text(all));
    if (unneeded) {
      const OpPotential* found = find_op(entry, Operation::kInputGrad);
      append_needed(cells, found == nullptr ? Potential{} : found->macs, all);
    }
    if (style.bars) cells.push_back(bar_text(all.speedup().value_or(most), most));
    table.add_row(std::move(cells));
  }
  table.add_rule();
  const PotentialTotals& totals = inspection.potential.per_batch;
  std::vector<std::string> cells{
      fmt::format("batch of {}{}", inspection.batch, total_coverage(inspection.info)), "",
      short_number(totals.ops[Operation::kForward].macs)};
  for (const TraceTensor which : tensors)
    cells.push_back(percent_text(inspection.potential.zero_share(which)));
  append_totals(cells, totals, unneeded);
  if (style.bars) cells.push_back(bar_text(totals.all.speedup().value_or(0), most));
  table.add_row(std::move(cells));
  return bold_text(printable(trace_title(inspection.info)), style) + "\n" + table.render(style);
}

std::string inspection_summary(const std::vector<Inspection>& inspections, const TextStyle& style) {
  const std::vector<TraceTensor> tensors = shown_tensors(
      std::ranges::any_of(inspections, [](const Inspection& one) { return one.potential.has_a_forward(); }));
  const bool unneeded =
      std::ranges::any_of(inspections, [](const Inspection& one) { return one.potential.has_unneeded(); });
  TextTable table =
      make_table({{"trace", Align::kLeft}, {"layers"}, {"MACs per batch"}}, tensors, unneeded, style);
  double most = 1;
  for (const Inspection& inspection : inspections)
    most = std::max(most, inspection.potential.per_batch.all.speedup().value_or(0));
  for (const Inspection& inspection : inspections) {
    const TracePotential& potential = inspection.potential;
    std::vector<std::string> cells{trace_title(inspection.info), fmt::format("{}", potential.layers.size()),
                                   short_number(potential.per_batch.ops[Operation::kForward].macs)};
    for (const TraceTensor which : tensors) cells.push_back(percent_text(potential.zero_share(which)));
    append_totals(cells, potential.per_batch, unneeded);
    if (style.bars) cells.push_back(bar_text(potential.per_batch.all.speedup().value_or(0), most));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string inspections_to_json(const std::vector<Inspection>& inspections) {
  Json document = json_document(1);
  Json& traces = document["traces"] = Json::array();
  for (const Inspection& inspection : inspections) traces.push_back(trace_json(inspection));
  return dump_json(document);
}

std::string inspections_to_csv(const std::vector<Inspection>& inspections) {
  std::string text =
      "trace,model,progress,recorded_share,left_out,layer,type,shape,batch,batch_scale,zeros_A,zeros_W,"
      "zeros_G,zeros_A_forward,op,targeted,macs,remaining_macs,effectual_macs,potential,"
      "needed_macs,needed_potential\n";
  for (const Inspection& inspection : inspections) {
    const TraceInfo& info = inspection.info;
    CsvRow trace;
    trace.text(inspection.path).text(info.model).number(info.progress);
    trace.number(coverage_share(info)).number(static_cast<std::int64_t>(info.left_out.size()));
    for (const LayerPotential& layer : inspection.potential.layers) {
      for (const OpPotential& op : layer.ops) {
        CsvRow row = trace;
        row.text(layer.name).text(layer_kind_name(layer.shape.kind)).text(layer.shape.describe());
        row.number(layer_batch(layer.shape)).number(layer.batch_scale);
        for (const Operand role : kOperands) row.number(layer.zero_share(role));
        row.number(layer.a_forward_zeros);
        row.text(operation_name(op.op)).text(operand_name(op.targeted)).number(op.macs.macs);
        row.number(op.macs.remaining).number(op.macs.effectual).number(op.macs.speedup());
        row.number(op.macs.needed).number(op.macs.needed_speedup());
        text += row.line();
      }
    }
  }
  return text;
}

}  // namespace lacuna
