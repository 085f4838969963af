#include "reproduce/figures/models.hpp"

#include <algorithm>

namespace lacuna::reproduce {
namespace {

// The range of a number whose samples gave `values`: they differ from one another as those do, but not from
// the number itself, since a half has fewer steps to schedule.
std::optional<Range> range_of(const std::vector<double>& values, double number) {
  if (values.empty()) return std::nullopt;
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return Range{number * *std::ranges::min_element(values) / mean,
               number * *std::ranges::max_element(values) / mean};
}

}  // namespace

const std::vector<std::string>& paper_models() {
  static const std::vector<std::string> kModels{"alexnet",       "vgg16",         "squeezenet", "densenet121",
                                                "resnet50_SM90", "resnet50_DS90", "snli",       "img2txt"};
  return kModels;
}

double mean_of(const std::vector<std::string>& names,
               const std::function<double(const std::string&)>& value) {
  double sum = 0;
  for (const std::string& name : names) sum += value(name);
  return sum / static_cast<double>(names.size());
}

double speedup_of(const Runs& runs, const std::string& trace, const std::string& arch,
                  const Settings& settings, std::optional<Operation> op) {
  const Totals& totals = runs.run(trace, arch, settings).batch;
  return (op ? totals.of(*op) : totals.all).speedup();
}

double potential_of(const Runs& runs, const std::string& trace, std::optional<Operation> op) {
  const PotentialTotals& totals = runs.potential(trace).per_batch;
  return (op ? totals.ops[*op] : totals.all).speedup().value_or(0);
}

Column speedup_column(const Runs& runs, const Variant& variant) {
  return {variant.title, [&runs, variant](const std::string& trace) {
            return speedup_of(runs, trace, variant.arch, variant.settings, variant.op);
          }};
}

std::vector<Column> speedup_columns(const Runs& runs, const std::vector<Variant>& variants) {
  std::vector<Column> columns;
  for (const Variant& variant : variants) columns.push_back(speedup_column(runs, variant));
  return columns;
}

void set_with_halves(const Runs& runs, FigureTable& table, const std::string& row, const Column& column,
                     const std::string& trace) {
  table.set(row, column.title, column.of(trace));
  std::vector<double> values;
  for (const std::string& half : runs.halves(trace)) values.push_back(column.of(half));
  table.cells.back().range = range_of(values, table.cells.back().ours);
}

void set_of_all_with_halves(const Runs& runs, FigureTable& table, const std::string& row,
                            const std::string& column, const std::vector<std::string>& traces,
                            const std::function<double(const std::vector<std::string>&)>& of) {
  table.set(row, column, of(traces));
  std::vector<double> values;
  for (const std::size_t half : {0U, 1U}) {
    std::vector<std::string> parts;
    for (const std::string& trace : traces) {
      const std::vector<std::string> halves = runs.halves(trace);
      parts.push_back(halves.empty() ? trace : halves[half]);
    }
    values.push_back(of(parts));
  }
  table.cells.back().range = range_of(values, table.cells.back().ours);
}

FigureTable by_model(const Runs& runs, FigureTable table, const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    for (const std::string& model : paper_models())
      set_with_halves(runs, table, model, column, last_trace(model));
    std::vector<std::string> traces;
    for (const std::string& model : paper_models()) traces.push_back(last_trace(model));
    set_of_all_with_halves(runs, table, kMeanRow, column.title, traces,
                           [&](const std::vector<std::string>& of) { return mean_of(of, column.of); });
  }
  return table;
}

FigureTable by_trace(const Runs& runs, FigureTable table, const std::vector<std::string>& traces,
                     const std::vector<Column>& columns) {
  for (const std::string& trace : traces) {
    for (const Column& column : columns) set_with_halves(runs, table, trace, column, trace);
  }
  return table;
}

void set_over_seeds(FigureTable& table, const std::string& row, const std::string& column,
                    const std::function<double(int)>& of, int seeds) {
  std::vector<double> values;
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    values.push_back(of(seed));
    sum += values.back();
  }
  table.set(row, column, sum / seeds);
  table.cells.back().range = range_of(values, sum / seeds);
}

}  // namespace lacuna::reproduce
