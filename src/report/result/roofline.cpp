#include "report/result/roofline.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

constexpr std::size_t kLongestName = 20;  // so that tables fit 100 columns

// The end of a layer's name, which tells layers apart.
std::string short_name(const std::string& name) {
  const std::string shown = printable(name);
  return shown.size() <= kLongestName ? shown : ".." + shown.substr(shown.size() - kLongestName + 2);
}

double ratio_of(std::string_view field, const OpResult& op) {
  const auto at = std::ranges::find(kOpFields, field, &OpField::name);
  const FieldValue value = at->get({op, op});
  const auto* ratio = std::get_if<double>(&value);
  return ratio == nullptr ? std::numeric_limits<double>::quiet_NaN() : *ratio;
}

std::string percent_or_dash(double share) { return share >= 0 ? percent_text(share) + " %" : "-"; }

std::string roofline_table(const RunResult& run, const TextStyle& style) {
  const double multipliers = run.hardware ? run.hardware->total("multipliers") : 0;
  const double hertz = run.hardware ? run.hardware->frequency_mhz * 1e6 : 0;
  const double bytes_per_cycle = hertz > 0 ? run.hardware->total("dram_bytes_per_second") / hertz : 0;
  TextTable table({{"layer", Align::kLeft},
                   {"operation", Align::kLeft},
                   {"MACs/byte"},
                   {"MACs/cycle"},
                   {"utilisation"},
                   {"GB/s"},
                   {"of peak"},
                   {"bound by", Align::kLeft}});
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      const double achieved = ratio_of("dram_bytes_per_cycle", op);
      table.add_row({&op == &layer.ops.front() ? short_name(layer.name) : "",
                     std::string(operation_name(op.op)), ratio_text(ratio_of("macs_per_dram_byte", op)),
                     ratio_text(ratio_of("macs_per_cycle", op)), percent_or_dash(ratio_of("utilisation", op)),
                     ratio_text(achieved * hertz / 1e9), percent_or_dash(achieved / bytes_per_cycle),
                     op.activity ? std::string(bound_name(op.activity->bound)) : "-"});
    }
  }
  return fmt::format("{} multipliers, {} GB/s of DRAM: the roofs meet at {} MACs/byte\n{}",
                     rounded_digits(multipliers), ratio_text(bytes_per_cycle * hertz / 1e9),
                     ratio_text(multipliers, bytes_per_cycle), table.render(style));
}

std::string mapping_table(const RunResult& run, const TextStyle& style) {
  // Names in the order in which they first occur, and whether all operations have one value.
  struct Column {
    std::string name, value;
    std::size_t seen = 0;
    bool same = true;
  };
  std::vector<Column> columns;
  std::size_t operations = 0;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      ++operations;
      for (const MappingChoice& choice : op.mapping) {
        auto at = std::ranges::find(columns, choice.name, &Column::name);
        if (at == columns.end()) at = columns.insert(at, {choice.name, choice_text(choice)});
        at->same &= at->value == choice_text(choice);
        ++at->seen;
      }
    }
  }
  std::string text;
  for (const Column& column : columns) {
    if (column.same && column.seen == operations)
      text += fmt::format("{}{}={}", text.empty() ? "everywhere: " : ", ", column.name, column.value);
  }
  if (!text.empty()) text += '\n';
  std::erase_if(columns, [&](const Column& column) { return column.same && column.seen == operations; });
  std::vector<TableColumn> titles{{"layer", Align::kLeft}, {"operation", Align::kLeft}};
  for (const Column& column : columns) {
    std::string title = column.name;
    std::ranges::replace(title, '_', ' ');
    titles.push_back({std::move(title), Align::kLeft});
  }
  TextTable table(std::move(titles));
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      std::vector<std::string> cells{&op == &layer.ops.front() ? short_name(layer.name) : "",
                                     std::string(operation_name(op.op))};
      for (const Column& column : columns) {
        const auto at = std::ranges::find(op.mapping, column.name, &MappingChoice::name);
        cells.push_back(at == op.mapping.end() ? "-" : choice_text(*at));
      }
      table.add_row(std::move(cells));
    }
  }
  return text + table.render(style);
}

template <typename Table>
std::string each_run(const std::vector<RunResult>& runs, std::string_view title, const TextStyle& style,
                     const Table& table) {
  std::string text;
  for (const RunResult& run : runs) {
    const std::string heading = fmt::format("{}, {} on {}", trace_title(run.info), title, run.arch);
    text += fmt::format("\n{}\n{}", bold_text(heading, style), table(run, style));
  }
  return text;
}

}  // namespace

std::string roofline_tables(const std::vector<RunResult>& runs, const TextStyle& style) {
  return each_run(runs, "roofline", style, roofline_table) +
         "\nMACs are those of the dense operation: zeros that are skipped may lift MACs/cycle above the\n"
         "multipliers. utilisation: MACs that are multiplied over what all multipliers could do.\n";
}

std::string mapping_tables(const std::vector<RunResult>& runs, const TextStyle& style) {
  return each_run(runs, "mapping", style, mapping_table);
}

}  // namespace lacuna
