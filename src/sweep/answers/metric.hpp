// Metrics that designs are compared by, and conditions on them: 'speedup', 'min:energy_joules * seconds',
// 'area_mm2 < 40'.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/answers/results.hpp"
#include "sweep/expression/expression.hpp"

namespace lacuna::sweep {

// Metrics to show where a question names none.
inline constexpr std::array kUsualMetrics{"seconds", "energy_joules", "energy_delay", "area_mm2", "speedup"};

// Returns true for speedups and efficiencies, by their names. Of anything else less is better.
bool higher_is_better(std::string_view name);
// "J s" of energy_delay; empty if there is none or it is not known.
std::string_view metric_unit(std::string_view name);

// A condition or a number of a row, with the names in it known to be there.
class RowExpression {
 public:
  // Throws InputError for a name that results do not have. `per_network`: rows are of one network each.
  RowExpression(std::string_view text, const std::string& where, const Results& results, bool per_network);

  Value value(const ResultRow& row) const;
  bool holds(const ResultRow& row) const;
  double shortfall(const ResultRow& row) const;  // Expression::shortfall()

 private:
  std::vector<Value> values(const ResultRow& row) const;

  Expression expression_;
  const Results& results_;
};

class Metric {
 public:
  // "speedup", "max:speedup / area_mm2", "min:area_mm2". `where` starts errors.
  Metric(std::string_view text, const std::string& where, const Results& results, bool per_network);

  const std::string& name() const { return name_; }  // without min: and max:
  bool maximise() const { return maximise_; }
  double value(const ResultRow& row) const;    // NaN: not known, or not a number
  double badness(const ResultRow& row) const;  // less is better

 private:
  std::string name_;
  bool maximise_;
  RowExpression expression_;
};

// The rows for which the condition holds; an empty condition: all of them.
std::vector<ResultRow> rows_where(const Results& results, const std::vector<ResultRow>& rows,
                                  const std::string& condition, bool per_network);

// A metric as text for a table: "1.87", "38.50", "1.2e-05".
std::string metric_text(double value);

}  // namespace lacuna::sweep
