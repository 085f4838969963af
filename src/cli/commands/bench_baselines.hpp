// The baselines of `lacuna bench`: which of oneDNN's convolutions are timed, and from which share of zeros on
// ours are faster.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/bench_results.hpp"

namespace lacuna::cli {

// Names of --baseline, checked; "direct" is always timed.
struct BenchBaselines {
  std::vector<kernels::Impl> more;  // kDenseWinograd, kDenseGemm
  bool best = false;                // a column for the fastest of all
  bool asked = false;
};
BenchBaselines parse_baselines(const std::vector<std::string>& names);

// The share of zeros at which our time equals the baseline's, by linear interpolation between measured
// shares; 0 where ours is faster at the least share, -1 where it never is. Of `auto`, which never means to be
// slower: the share from which on it skips zeros and is faster.
struct Crossover {
  std::string network, layer, shape;
  Operation op = Operation::kForward;
  double direct = -1, best = -1;
};
std::vector<Crossover> crossovers(const std::vector<BenchCase>& cases);
std::string crossover_table(const std::vector<Crossover>& all);

}  // namespace lacuna::cli
