#include <algorithm>
#include <fmt/format.h>

#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "report/study/storage_report.hpp"

namespace lacuna {
namespace {

using Total = BacksideMeasure::Total;

// Over layers: of one operation, or of all.
struct LoadTotals {
  std::vector<double> values;  // of the measures; 0 for those without a total
  std::int64_t layers = 0, stalled = 0;
};

LoadTotals load_totals(const BacksideLoads& loads, const Operation* op) {
  LoadTotals sum{std::vector<double>(loads.measures.size(), 0.0)};
  for (const auto& layer : loads.layers) {
    for (const BacksideOp& entry : layer.ops) {
      if (op != nullptr && entry.op != *op) continue;
      for (std::size_t m = 0; m < sum.values.size(); ++m) {
        if (loads.measures[m].total == Total::kSum) sum.values[m] += entry.values[m] * entry.batch_scale;
        if (loads.measures[m].total == Total::kLargest)
          sum.values[m] = std::max(sum.values[m], entry.values[m]);
      }
      ++sum.layers;
      if (entry.values[loads.stalls] > 0) ++sum.stalled;
    }
  }
  return sum;
}

// ---- tables ----

// The stalls are followed by their share of the cycles.
std::vector<TableColumn> measure_columns(const BacksideLoads& loads, bool only_totals) {
  std::vector<TableColumn> columns;
  for (std::size_t m = 0; m < loads.measures.size(); ++m) {
    const BacksideMeasure& measure = loads.measures[m];
    if (measure.title.empty() || (only_totals && measure.total == Total::kNone)) continue;
    columns.push_back({.title = measure.title, .group = measure.group});
    if (m == loads.stalls) columns.push_back({.title = "% of cycles", .group = measure.group});
  }
  return columns;
}

void append_measures(std::vector<std::string>& cells, const BacksideLoads& loads,
                     const std::vector<double>& values, bool only_totals) {
  for (std::size_t m = 0; m < values.size(); ++m) {
    const BacksideMeasure& measure = loads.measures[m];
    if (measure.title.empty() || (only_totals && measure.total == Total::kNone)) continue;
    cells.push_back(measure.decimals == 0 ? rounded_digits(values[m])
                                          : fmt::format("{:.{}f}", values[m], measure.decimals));
    if (m == loads.stalls) {
      const double cycles = values[loads.cycles];
      cells.push_back(cycles > 0 ? percent_text(values[m] / cycles) : "");
    }
  }
}

std::string subtitle(const BacksideLoads& loads, const TextStyle& style) {
  return dim_text(fmt::format("{}, {}", loads.subject.arch, loads.description), style) + "\n";
}

// ---- JSON ----

Json op_json(const BacksideLoads& loads, const BacksideOp& entry) {
  Json object{{"op", operation_name(entry.op)}, {"batch_scale", number_json(entry.batch_scale)}};
  for (std::size_t m = 0; m < entry.values.size(); ++m)
    object[loads.measures[m].name] = number_json(entry.values[m]);
  return object;
}

Json totals_json(const BacksideLoads& loads, const Operation* op) {
  const LoadTotals sum = load_totals(loads, op);
  Json object = Json::object();
  const auto add = [&](Total kind) {
    for (std::size_t m = 0; m < sum.values.size(); ++m)
      if (loads.measures[m].total == kind) object[loads.measures[m].name] = number_json(sum.values[m]);
  };
  add(Total::kSum);
  object["layers"] = sum.layers;
  object["stalled_layers"] = sum.stalled;
  add(Total::kLargest);
  return object;
}

Json trace_json(const BacksideLoads& loads) {
  Json object = subject_json(loads.subject);
  for (const StudySetting& setting : loads.settings) append_setting(object, setting);
  Json& layers = object["layers"] = Json::array();
  for (const auto& layer : loads.layers) {
    Json ops = Json::array();
    for (const BacksideOp& entry : layer.ops) ops.push_back(op_json(loads, entry));
    layers.push_back({{"name", layer.name}, {"shape", layer.shape}, {"ops", std::move(ops)}});
  }
  Json& totals = object["per_batch"];
  for (const Operation op : kOperations) totals[std::string(operation_name(op))] = totals_json(loads, &op);
  totals["all"] = totals_json(loads, nullptr);
  return object;
}

}  // namespace

std::string backside_table(const BacksideLoads& loads, const TextStyle& style) {
  std::vector<TableColumn> columns{{.title = "layer", .align = Align::kLeft},
                                   {.title = "operation", .align = Align::kLeft}};
  std::ranges::copy(measure_columns(loads, false), std::back_inserter(columns));
  TextTable table(std::move(columns));
  for (const auto& layer : loads.layers) {
    for (const BacksideOp& entry : layer.ops) {
      std::vector<std::string> cells{&entry == &layer.ops.front() ? layer.name : "",
                                     std::string(operation_name(entry.op))};
      append_measures(cells, loads, entry.values, false);
      table.add_row(std::move(cells));
    }
  }
  return bold_text(printable(trace_title(loads.subject.info)), style) + "\n" + subtitle(loads, style) +
         table.render(style);
}

std::string backside_summary(const std::vector<BacksideLoads>& loads, const TextStyle& style) {
  if (loads.empty()) return "";
  std::vector<TableColumn> columns{{.title = "one batch of", .align = Align::kLeft},
                                   {.title = "operation", .align = Align::kLeft},
                                   {.title = "layers"},
                                   {.title = "stalled layers"}};
  std::ranges::copy(measure_columns(loads.front(), true), std::back_inserter(columns));
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (i > 0) table.add_rule();
    const auto add = [&](const std::string& trace, std::string_view name, const LoadTotals& sum) {
      std::vector<std::string> cells{trace, std::string(name), grouped_digits(sum.layers),
                                     grouped_digits(sum.stalled)};
      append_measures(cells, loads[i], sum.values, true);
      table.add_row(std::move(cells));
    };
    for (const Operation op : kOperations)
      add(op == kOperations.front() ? trace_title(loads[i].subject.info) : "", operation_name(op),
          load_totals(loads[i], &op));
    add("", "all", load_totals(loads[i], nullptr));
  }
  return subtitle(loads.front(), style) + table.render(style);
}

std::string backside_to_json(const std::vector<BacksideLoads>& loads) {
  Json document = json_document(1);
  Json& list = document["backside"] = Json::array();
  for (const BacksideLoads& entry : loads) list.push_back(trace_json(entry));
  return dump_json(document);
}

std::string backside_to_csv(const std::vector<BacksideLoads>& loads) {
  if (loads.empty()) return "";
  CsvRow header;
  for (const char* name : {"trace", "model", "progress", "layer", "shape", "batch_scale", "op"})
    header.text(name);
  for (const BacksideMeasure& measure : loads.front().measures) header.text(measure.name);
  std::string text = header.line();
  for (const BacksideLoads& entry : loads) {
    for (const auto& layer : entry.layers) {
      for (const BacksideOp& op : layer.ops) {
        CsvRow row = subject_csv(entry.subject);
        row.text(layer.name).text(layer.shape).number(op.batch_scale).text(operation_name(op.op));
        for (const double value : op.values) row.number(value);
        text += row.line();
      }
    }
  }
  return text;
}

}  // namespace lacuna
