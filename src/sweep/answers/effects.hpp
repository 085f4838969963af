// Main effects: how much each parameter moves a metric, the others averaged.
//
// Metrics are compared as ratios, so everything is computed on logarithms. Each value is taken relative to
// the geometric mean of its group: the designs of the same machine on the same network (for the parameter
// 'machine' itself, of all machines). So neither a large network nor a machine without the parameter
// moves the effect.
#pragma once

#include <string>
#include <vector>

#include "sweep/answers/metric.hpp"
#include "sweep/answers/results.hpp"

namespace lacuna::sweep {

struct EffectLevel {
  Value value;          // of the parameter
  double relative = 1;  // geometric mean of the metric, relative to that of the group
  std::size_t rows = 0;
};

struct Effect {
  std::string parameter;
  std::vector<EffectLevel> levels;  // by value
  double ratio = 1;                 // the highest level over the lowest
  double share = 0;  // of the variance (of logarithms) that the parameter alone explains, 0 to 1
  std::size_t best = 0, worst = 0;  // levels
};

// Effects of all parameters with at least two values, the largest ratio first. Rows whose metric is missing
// or not positive do not count.
std::vector<Effect> main_effects(const Results& results, const std::vector<ResultRow>& rows,
                                 const Metric& metric);

std::string value_text(const Value& value);  // "16", "on", "lockstep", "-"

}  // namespace lacuna::sweep
