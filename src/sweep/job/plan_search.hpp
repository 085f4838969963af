// The strategy of a plan: `strategy: {name: nsga2, objectives: [speedup, area_mm2], ...}` (docs/sweep.md,
// "Search").
#pragma once

#include <string>
#include <vector>

#include "sweep/plan/plan.hpp"
#include "sweep/search/search_strategy.hpp"

namespace lacuna::sweep {

struct PlanSearch {
  SearchOptions options;
  std::vector<std::string> objectives;  // as Metric reads them: "speedup", "min:energy_joules"
  std::string subject_to;               // a condition on what is measured; empty: none
  std::vector<std::size_t> rungs;       // how many of the plan's traces, the first ones, each rung takes
};

// Throws InputError, which names the plan's line, for a strategy or setting that is not known or out of
// range.
PlanSearch read_search(const Plan& plan);

}  // namespace lacuna::sweep
