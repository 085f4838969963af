// Runs a plan with a strategy: generation by generation into the file of results, from which the strategy
// gets its scores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweep/run/runner.hpp"
#include "sweep/search/search_strategy.hpp"

namespace lacuna::sweep {

// The strategy of a plan: `strategy: {name: nsga2, objectives: [speedup, area_mm2], ...}` (docs/sweep.md,
// "Search").
struct PlanSearch {
  SearchOptions options;
  std::vector<std::string> objectives;  // as Metric reads them: "speedup", "min:energy_joules"
  std::string subject_to;               // a condition on what is measured; empty: none
  std::vector<std::size_t> rungs;       // how many of the plan's traces, the first ones, each rung takes
};

// Throws InputError, which names the plan's line, for a strategy or setting that is not known or out of
// range.
PlanSearch read_search(const Plan& plan);

// The plan's machines and axes as dimensions. A design whose parameters do not go together, or that is over
// the plan's limits, is not allowed: both are known without a simulation. The sweep must outlive it.
SearchSpace search_space(Sweep& sweep);

struct GuidedProgress {
  std::uint32_t generation = 0;  // from 1
  std::uint64_t designs = 0;     // asked for so far, those that were there included
  std::uint64_t front = 0;       // of the last rung, that none beats and that keep subject_to
  std::uint64_t stored = 0;      // points that were in the file
  SweepOutcome computed;
};

struct GuidedOptions {
  RunOptions run = {};
  int workers = 1;                                             // threads of all processes
  std::function<void(const GuidedProgress&)> generation = {};  // called after each one
};

// A search that was interrupted continues as if it had not been: stored points are not computed again, and
// the strategy gets the stored numbers.
GuidedProgress run_guided(Sweep& sweep, const PlanSearch& search, Database& database,
                          const GuidedOptions& options);

}  // namespace lacuna::sweep
