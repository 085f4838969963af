// `lacuna sweep PLAN.yaml -o RESULTS.sqlite`: from a plan to points in the file of results.
#pragma once

#include <functional>
#include <string>

#include "sweep/run/ranks.hpp"

namespace lacuna::sweep {

struct SweepJob {
  std::string plan;                                    // file
  std::string output;                                  // file of results; empty: none, for dry_run()
  std::string baseline = {};                           // NAME or file, in place of the plan's; empty: none
  int threads = 0;                                     // 0: all cores
  Ranks* ranks = nullptr;                              // other processes that help; null: none
  std::function<bool()> stop = {};                     // asked between chunks
  std::function<void(const std::string&)> print = {};  // lines for the user
  std::function<void(double, const std::string&)> progress = {};  // done share, 0 to 1, and what is done
};

struct JobOutcome {
  bool stopped = false;  // points are left
  bool failed = false;   // points could not be computed
};

// Prints how many points there are and how long they will take.
void dry_run(const SweepJob& job);

// Computes the points that are not in the file, by the plan's strategy. Throws InputError.
JobOutcome run_job(const SweepJob& job);

// Ranks 1, 2, ...: computes what rank 0 asks for. An error of the plan is left to rank 0 to report.
void help_rank_0(const SweepJob& job);

}  // namespace lacuna::sweep
