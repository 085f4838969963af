// Pareto fronts: dominance between designs, fronts and crowding distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lacuna::sweep {

// Objectives of a design, and its constraint violation.
struct Score {
  std::vector<double> objectives;  // less is better; not NaN
  double violation = 0;  // by how much limits are missed; 0: none is. Infinite: it could not be evaluated
};

// No worse in any objective and better in one. A design that keeps the limits dominates one that does not,
// and of two that do not the one that misses them by less [Deb et al. 2002, §VI].
bool dominates(const Score& a, const Score& b);

// For each score the front it is in: 0 if nothing dominates it, else one more than the highest front among
// those that dominate it.
//
// Efficient non-dominated sorting [Zhang et al. 2015]: in lexicographic order a score can only be dominated
// by those before it, so each one is put into the first front none of whose members dominates it.
std::vector<std::uint32_t> front_numbers(std::span<const Score> scores);

// Front 0 as indices, in the order given. Two objectives take O(n log n).
std::vector<std::size_t> pareto_front(std::span<const Score> scores);

// For each member of one front how far its neighbours are apart, summed over the objectives, each divided by
// its range; infinite at the ends [Deb et al. 2002, §III-B].
std::vector<double> crowding_distances(std::span<const Score> scores, std::span<const std::size_t> front);

// All indices, best first: by front, the less crowded first within one, the earlier first among equals.
std::vector<std::size_t> best_first(std::span<const Score> scores);

}  // namespace lacuna::sweep
