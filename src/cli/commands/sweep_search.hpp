// `lacuna sweep` of a plan with a strategy.
#pragma once

#include <string>

#include "sweep/plan/plan.hpp"
#include "sweep/run/ranks.hpp"

namespace lacuna::cli {

struct SearchRunOptions {
  std::string output;
  int threads = 1;
  bool quiet = false;
  bool dry_run = false;
};

// `ranks`: those that help, of which this is rank 0; null: none.
void run_search(const sweep::Plan& plan, const SearchRunOptions& options, sweep::Ranks* ranks);

}  // namespace lacuna::cli
