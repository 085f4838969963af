#include "sweep/answers/metric.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "sweep/store/schema.hpp"

namespace lacuna::sweep {

namespace {

struct DirectedText {
  std::string text;
  bool maximise;
};

DirectedText split_direction(std::string_view text) {
  const bool max = text.starts_with("max:");
  if (max || text.starts_with("min:")) return {std::string(text.substr(4)), max};
  return {std::string(text), higher_is_better(text)};
}

}  // namespace

bool higher_is_better(std::string_view name) {
  return name.starts_with("speedup") || name.ends_with("_efficiency");
}

std::string_view metric_unit(std::string_view name) {
  const auto found = std::ranges::find(metric_columns(), name, &MetricColumn::name);
  return found == metric_columns().end() ? std::string_view() : found->unit;
}

RowExpression::RowExpression(std::string_view text, const std::string& where, const Results& results,
                             bool per_network)
    : expression_(Expression::parse(text, where)), results_(results) {
  const std::vector<std::string> known = results.known_names();
  for (const Expression::Name& name : expression_.names()) {
    if (std::ranges::find(known, name.name) == known.end()) expression_.unknown_name(name, known);
    if (name.name == "network" && !per_network) {
      throw InputError(fmt::format("{}: column {}", where, name.column),
                       "rows are of all networks together, so there is no 'network'",
                       "add --per-network, or choose networks by --network NAME");
    }
  }
}

std::vector<Value> RowExpression::values(const ResultRow& row) const {
  std::vector<Value> values;
  for (const Expression::Name& name : expression_.names()) values.push_back(results_.value(row, name.name));
  return values;
}

Value RowExpression::value(const ResultRow& row) const { return expression_.evaluate(values(row)); }
double RowExpression::shortfall(const ResultRow& row) const { return expression_.shortfall(values(row)); }
bool RowExpression::holds(const ResultRow& row) const { return expression_.holds(values(row)); }

Metric::Metric(std::string_view text, const std::string& where, const Results& results, bool per_network)
    : name_(split_direction(text).text),
      maximise_(split_direction(text).maximise),
      expression_(name_, where, results, per_network) {}

double Metric::value(const ResultRow& row) const {
  const Value value = expression_.value(row);
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : std::numeric_limits<double>::quiet_NaN();
}

double Metric::badness(const ResultRow& row) const { return maximise_ ? -value(row) : value(row); }

std::vector<ResultRow> rows_where(const Results& results, const std::vector<ResultRow>& rows,
                                  const std::string& condition, bool per_network) {
  if (condition.empty()) return rows;
  const RowExpression expression(condition, "--where", results, per_network);
  std::vector<ResultRow> kept;
  std::ranges::copy_if(rows, std::back_inserter(kept),
                       [&](const ResultRow& row) { return expression.holds(row); });
  return kept;
}

std::string metric_text(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e7)) return fmt::format("{:.3g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return size >= 100 ? fmt::format("{:.1f}", value)
         : size >= 1 ? fmt::format("{:.2f}", value)
                     : fmt::format("{:.3f}", value);
}

}  // namespace lacuna::sweep
