// Differences between two designs: their settings and their metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sweep/answers/results.hpp"

namespace lacuna::sweep {

struct SettingDifference {
  std::string name;
  Value a, b;
};
struct MetricDifference {
  std::string network;
  std::string metric;
  double a = 0, b = 0;
  double ratio = 0;  // b / a; NaN where there is none
};
struct DesignDiff {
  const ResultDesign* a;
  const ResultDesign* b;
  std::vector<SettingDifference> settings;
  std::size_t equal_settings = 0;
  std::vector<MetricDifference> metrics;  // of networks that both have, all of them
};

// Returns the design of that number, as the tables show it. Throws InputError if there is none.
const ResultDesign& find_design(const Results& results, const std::string& design);
DesignDiff diff_designs(const Results& results, const ResultDesign& a, const ResultDesign& b);

}  // namespace lacuna::sweep
