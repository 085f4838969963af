// Runs a plan with a strategy: generation by generation into the file of results, from which the strategy
// gets its scores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sweep/job/plan_search.hpp"
#include "sweep/run/runner.hpp"

namespace lacuna::sweep {

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
