// The baselines of `lacuna bench`: which of oneDNN's convolutions are timed, and above which share of zeros
// ours are faster.
#pragma once

#include <string>
#include <vector>

#include "bench/layers/layers_report.hpp"

namespace lacuna::bench {

// Baselines by name; "direct" is always timed.
struct Baselines {
  std::vector<std::string> more;  // winograd, gemm
  bool best = false;              // a column for the fastest of all
};
Baselines parse_baselines(const std::vector<std::string>& names);

// The share of zeros at which our time equals the baseline's, by linear interpolation between measured
// shares; 0 where ours is faster at the least share, -1 where it never is. For `auto`, which is never meant
// to be slower: the share above which it skips zeros and is faster.
struct Crossover {
  std::string network, layer, shape;
  Operation op = Operation::kForward;
  double direct = -1, best = -1;
};
std::vector<Crossover> crossovers(const std::vector<Case>& cases);
std::string crossover_table(const std::vector<Crossover>& all, const TextStyle& style);

}  // namespace lacuna::bench
