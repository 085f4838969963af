#include "sweep/search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lacuna::sweep {

namespace {

// Dominance of two scores that keep the limits.
bool better_objectives(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better |= a[i] < b[i];
  }
  return better;
}

// Scores in an order in which the ones that dominate a score come before it.
std::vector<std::size_t> dominance_order(std::span<const Score> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (scores[a].violation != scores[b].violation) return scores[a].violation < scores[b].violation;
    return scores[a].violation == 0 && scores[a].objectives < scores[b].objectives;
  });
  return order;
}

}  // namespace

bool dominates(const Score& a, const Score& b) {
  if (a.violation != b.violation) return a.violation < b.violation;
  return a.violation == 0 && better_objectives(a.objectives, b.objectives);
}

std::vector<std::uint32_t> front_numbers(std::span<const Score> scores) {
  std::vector<std::uint32_t> numbers(scores.size(), 0);
  std::vector<std::vector<std::size_t>> fronts;
  for (const std::size_t index : dominance_order(scores)) {
    const auto beaten_in = [&](const std::vector<std::size_t>& front) {
      // The latest ones are the nearest: most often one of them dominates.
      return std::any_of(front.rbegin(), front.rend(),
                         [&](std::size_t member) { return dominates(scores[member], scores[index]); });
    };
    // A score that is dominated in a front is dominated in all fronts before it.
    const auto place = std::ranges::partition_point(fronts, beaten_in);
    numbers[index] = static_cast<std::uint32_t>(place - fronts.begin());
    if (place == fronts.end()) {
      fronts.push_back({index});
    } else {
      place->push_back(index);
    }
  }
  return numbers;
}

std::vector<std::size_t> pareto_front(std::span<const Score> scores) {
  std::vector<std::size_t> front;
  for (const std::size_t index : dominance_order(scores)) {
    const Score& score = scores[index];
    bool beaten = false;
    if (score.violation == 0 && score.objectives.size() <= 2) {
      // The last member has the least second objective so far. A tie beats only if the first objective does.
      beaten = !front.empty() && dominates(scores[front.back()], score);
    } else {
      beaten = std::any_of(front.rbegin(), front.rend(),
                           [&](std::size_t member) { return dominates(scores[member], score); });
    }
    if (!beaten) front.push_back(index);
  }
  std::ranges::sort(front);
  return front;
}

std::vector<double> crowding_distances(std::span<const Score> scores, std::span<const std::size_t> front) {
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  std::vector<std::size_t> order(front.size());
  for (std::size_t objective = 0; objective < scores[front[0]].objectives.size(); ++objective) {
    const auto value = [&](std::size_t i) { return scores[front[i]].objectives[objective]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    distances[order.front()] = distances[order.back()] = std::numeric_limits<double>::infinity();
    const double range = value(order.back()) - value(order.front());
    if (!(range > 0) || range == std::numeric_limits<double>::infinity()) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / range;
    }
  }
  return distances;
}

std::vector<std::size_t> best_first(std::span<const Score> scores) {
  const std::vector<std::uint32_t> numbers = front_numbers(scores);
  const std::uint32_t fronts = numbers.empty() ? 0 : *std::ranges::max_element(numbers) + 1;
  std::vector<std::vector<std::size_t>> members(fronts);
  for (std::size_t i = 0; i < scores.size(); ++i) members[numbers[i]].push_back(i);
  std::vector<std::size_t> order;
  for (const std::vector<std::size_t>& front : members) {
    const std::vector<double> distances = crowding_distances(scores, front);
    std::vector<std::size_t> within(front.size());
    std::iota(within.begin(), within.end(), std::size_t{0});
    std::ranges::stable_sort(within,
                             [&](std::size_t a, std::size_t b) { return distances[a] > distances[b]; });
    for (const std::size_t i : within) order.push_back(front[i]);
  }
  return order;
}

}  // namespace lacuna::sweep
