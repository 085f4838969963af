#include "report/storage_report.hpp"

#include <array>
#include <fmt/format.h>

#include "report/csv_text.hpp"
#include "report/json_text.hpp"
#include "report/result_tables.hpp"
#include "tensor/operation.hpp"

namespace lacuna {
namespace {

using tensordash::LayerStorage;
using tensordash::StorageBits;
using tensordash::StorageCounts;
using tensordash::TensorStorage;
using tensordash::TraceStorageReport;

constexpr std::array kRoles{TensorRole::kA, TensorRole::kW, TensorRole::kG};

std::string_view role_text(TensorRole role) { return scheduled_name(scheduled_of(role)); }
std::string_view type_text(DataType type) { return type == DataType::kFp32 ? "fp32" : "bfloat16"; }

// "1.23 M": bits in a table.
std::string size_text(double bits) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [scale, unit] : kUnits) {
    if (bits >= scale) return fmt::format("{:.4g}{}", bits / scale, unit);
  }
  return fmt::format("{:.0f}", bits);
}

struct Format {
  std::string_view name;   // in JSON and CSV
  std::string_view title;  // in tables
  std::string_view group;
  double StorageBits::*bits;
};
constexpr std::array<Format, 6> kFormats{
    {{"scheduled", "rows", "scheduled / dense", &StorageBits::scheduled},
     {"scheduled_pointers", "+pointers", "scheduled / dense", &StorageBits::scheduled_pointers},
     {"worst_case", "reserved", "scheduled / dense", &StorageBits::worst_case},
     {"run_length", "run-length", "other / dense", &StorageBits::run_length},
     {"bitmap", "bitmap", "other / dense", &StorageBits::bitmap},
     {"csr", "CSR", "other / dense", &StorageBits::csr}}};

std::vector<TableColumn> format_columns() {
  std::vector<TableColumn> columns;
  columns.reserve(kFormats.size());
  for (const Format& format : kFormats)
    columns.push_back({.title = std::string(format.title), .group = std::string(format.group)});
  return columns;
}

void append_ratios(std::vector<std::string>& cells, const StorageBits& bits) {
  for (const Format& format : kFormats) {
    cells.push_back(bits.dense > 0 ? fmt::format("{:.3f}", bits.*format.bits / bits.dense) : "");
  }
}

StorageBits all_roles(const TraceStorageReport& report, DataType type) {
  StorageBits sum;
  for (const TensorRole role : kRoles) sum += report.total(role, type);
  return sum;
}

// Share of zeros of a role over the batch, or of all roles.
double zero_share(const TraceStorageReport& report, const TensorRole* role) {
  double elements = 0;
  double nonzeros = 0;
  for (const LayerStorage& layer : report.layers) {
    for (const TensorStorage& tensor : layer.tensors) {
      if (role != nullptr && tensor.role != *role) continue;
      elements += static_cast<double>(tensor.counts.elements) * tensor.scale;
      nonzeros += static_cast<double>(tensor.counts.nonzeros) * tensor.scale;
    }
  }
  return elements > 0 ? 1 - nonzeros / elements : 0;
}

void add_totals(TextTable& table, const std::string& name, const TraceStorageReport& report, DataType type) {
  for (const TensorRole role : kRoles) {
    const StorageBits bits = report.total(role, type);
    std::vector<std::string> cells{role == TensorRole::kA ? name : "", std::string(role_text(role)),
                                   fmt::format("{:.1f}", zero_share(report, &role) * 100),
                                   size_text(bits.dense)};
    append_ratios(cells, bits);
    table.add_row(std::move(cells));
  }
  const StorageBits bits = all_roles(report, type);
  std::vector<std::string> cells{"", "all", fmt::format("{:.1f}", zero_share(report, nullptr) * 100),
                                 size_text(bits.dense)};
  append_ratios(cells, bits);
  table.add_row(std::move(cells));
}

TextTable make_table(const char* first) {
  std::vector<TableColumn> columns{{.title = first, .align = Align::kLeft},
                                   {.title = "tensor", .align = Align::kLeft},
                                   {.title = "zeros %"},
                                   {.title = "dense bits"}};
  const std::vector<TableColumn> formats = format_columns();
  columns.insert(columns.end(), formats.begin(), formats.end());
  return TextTable(std::move(columns));
}

std::string form_text(const TraceStorageReport& report, DataType type) {
  return fmt::format(
      "{} values; groups: {}; {} lanes, depth {}: {} bits idx, {} bits AS; pointers of {} bits, runs of {} "
      "bits",
      type_text(type), report.grouping, report.lanes, report.depth, report.form.move, report.form.advance,
      report.params.pointer_bits, report.params.run_bits);
}

// ---- JSON ----

std::string bits_json(const StorageBits& bits) {
  JsonLine line;
  line.field("dense", bits.dense).field("pointers", bits.pointers);
  for (const Format& format : kFormats) line.field(format.name, bits.*format.bits);
  return line.text();
}

std::string tensor_json(const TensorStorage& tensor) {
  const StorageCounts& counts = tensor.counts;
  JsonLine line;
  line.field("tensor", role_text(tensor.role))
      .field("batch_scale", tensor.scale)
      .field("elements", counts.elements)
      .field("nonzeros", counts.nonzeros)
      .field("groups", counts.groups)
      .field("steps", counts.steps)
      .field("rows", counts.rows)
      .field("slots", counts.slots)
      .field("run_entries", counts.run_entries)
      .raw("fp32_bits", bits_json(tensor.fp32))
      .raw("bfloat16_bits", bits_json(tensor.bfloat16));
  return line.text();
}

std::string trace_json(const TraceStorageReport& report) {
  std::string layers;
  for (const LayerStorage& layer : report.layers) {
    std::string tensors;
    for (const TensorStorage& tensor : layer.tensors)
      tensors += fmt::format("{}\n          {}", tensors.empty() ? "" : ",", tensor_json(tensor));
    layers += fmt::format("{}\n        {}", layers.empty() ? "" : ",",
                          JsonLine()
                              .field("name", layer.name)
                              .field("shape", layer.shape)
                              .raw("tensors", "[" + tensors + "\n        ]")
                              .text());
  }
  std::string totals;
  for (const TensorRole role : kRoles) {
    totals += fmt::format("{}\n        \"{}\": {}", totals.empty() ? "" : ",", role_text(role),
                          JsonLine()
                              .field("zeros", zero_share(report, &role))
                              .raw("fp32_bits", bits_json(report.total(role, DataType::kFp32)))
                              .raw("bfloat16_bits", bits_json(report.total(role, DataType::kBfloat16)))
                              .text());
  }
  totals += fmt::format(",\n        \"all\": {}",
                        JsonLine()
                            .field("zeros", zero_share(report, nullptr))
                            .raw("fp32_bits", bits_json(all_roles(report, DataType::kFp32)))
                            .raw("bfloat16_bits", bits_json(all_roles(report, DataType::kBfloat16)))
                            .text());
  std::string text = "    {\n";
  const auto field = [&](std::string_view name, std::string_view json) {
    text += fmt::format("      \"{}\": {},\n", name, json);
  };
  field("trace", json_string(report.path));
  field("model", json_string(report.info.model));
  if (report.info.progress) field("progress", json_number(*report.info.progress));
  field("batch", std::to_string(report.batch));
  field("form", JsonLine()
                    .field("grouping", report.grouping)
                    .field("lanes", std::int64_t{report.lanes})
                    .field("depth", std::int64_t{report.depth})
                    .field("idx_bits", std::int64_t{report.form.move})
                    .field("advance_bits", std::int64_t{report.form.advance})
                    .field("pointer_bits", std::int64_t{report.params.pointer_bits})
                    .field("run_bits", std::int64_t{report.params.run_bits})
                    .text());
  field("layers", "[" + layers + "\n      ]");
  return text + fmt::format("      \"per_batch\": {{{}\n      }}\n    }}", totals);
}

}  // namespace

std::string storage_table(const TraceStorageReport& report, DataType type, const TextStyle& style) {
  TextTable table = make_table("layer");
  for (const LayerStorage& layer : report.layers) {
    for (const TensorStorage& tensor : layer.tensors) {
      const StorageCounts& counts = tensor.counts;
      const StorageBits& bits = tensor.bits(type);
      const double zeros = 100.0 * static_cast<double>(counts.elements - counts.nonzeros) /
                           static_cast<double>(counts.elements);
      std::vector<std::string> cells{tensor.role == TensorRole::kA ? layer.name : "",
                                     std::string(role_text(tensor.role)), fmt::format("{:.1f}", zeros),
                                     size_text(bits.dense)};
      append_ratios(cells, bits);
      table.add_row(std::move(cells));
    }
  }
  table.add_rule();
  add_totals(table, fmt::format("batch of {}", report.batch), report, type);
  return bold_text(printable(trace_title(report.info)), style) + "\n" +
         dim_text(form_text(report, type), style) + "\n" + table.render(style);
}

std::string storage_summary(const std::vector<TraceStorageReport>& reports, DataType type,
                            const TextStyle& style) {
  TextTable table = make_table("trace");
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i > 0) table.add_rule();
    add_totals(table, trace_title(reports[i].info), reports[i], type);
  }
  const std::string form = reports.empty() ? "" : dim_text(form_text(reports.front(), type), style) + "\n";
  return form + table.render(style);
}

std::string storage_to_json(const std::vector<TraceStorageReport>& reports) {
  std::vector<std::string> items;
  items.reserve(reports.size());
  for (const auto& entry : reports) items.push_back(trace_json(entry));
  return json_document("storage", items);
}

std::string storage_to_csv(const std::vector<TraceStorageReport>& reports) {
  std::string text =
      "trace,model,progress,grouping,layer,shape,tensor,batch_scale,values,elements,nonzeros,groups,steps,"
      "rows,slots,run_entries,dense,pointers";
  for (const Format& format : kFormats) text += fmt::format(",{}", format.name);
  text += '\n';
  for (const TraceStorageReport& report : reports) {
    const std::string head =
        fmt::format("{},{},{},{}", csv_text(report.path), csv_text(report.info.model),
                    report.info.progress ? json_number(*report.info.progress) : "", report.grouping);
    for (const LayerStorage& layer : report.layers) {
      for (const TensorStorage& tensor : layer.tensors) {
        const StorageCounts& counts = tensor.counts;
        for (const DataType type : {DataType::kFp32, DataType::kBfloat16}) {
          const StorageBits& bits = tensor.bits(type);
          text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", head, csv_text(layer.name),
                              csv_text(layer.shape), role_text(tensor.role), json_number(tensor.scale),
                              type_text(type), counts.elements, counts.nonzeros, counts.groups, counts.steps,
                              counts.rows, counts.slots, counts.run_entries, json_number(bits.dense),
                              json_number(bits.pointers));
          for (const Format& format : kFormats) text += fmt::format(",{}", json_number(bits.*format.bits));
          text += '\n';
        }
      }
    }
  }
  return text;
}

}  // namespace lacuna
