// Many machines in one table, the best first.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/run_energy.hpp"

namespace lacuna {

enum class RankBy {
  kTime,    // of a batch, the shortest first
  kZeros,   // speedup from zeros, the largest first
  kEnergy,  // of a batch, the least first
  kArea,    // of the chip, the smallest first
};
inline constexpr std::array kRankBy{RankBy::kTime, RankBy::kZeros, RankBy::kEnergy, RankBy::kArea};
constexpr std::string_view rank_name(RankBy by) {
  constexpr std::array<std::string_view, kRankBy.size()> kNames{"time", "zeros", "energy", "area"};
  return kNames[static_cast<std::size_t>(by)];
}

// One row per machine, all traces together (cycles and joules of whole batches add up). `energies` has one
// entry per run, or none. Machines without the number they are ranked by come last.
std::string ranking_table(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                          RankBy by, const TextStyle& style);

}  // namespace lacuna
