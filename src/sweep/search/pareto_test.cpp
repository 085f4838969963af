#include "sweep/search/pareto.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "base/random.hpp"
#include "base/testing.hpp"

namespace lacuna::sweep {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The rules a second time, from their definitions.
bool brute_dominates(const Score& a, const Score& b) {
  if (a.violation == 0 && b.violation > 0) return true;
  if (a.violation > 0 || b.violation > 0) return a.violation < b.violation;
  std::size_t no_worse = 0;
  std::size_t better = 0;
  for (std::size_t i = 0; i < a.objectives.size(); ++i) {
    no_worse += a.objectives[i] <= b.objectives[i] ? 1 : 0;
    better += a.objectives[i] < b.objectives[i] ? 1 : 0;
  }
  return no_worse == a.objectives.size() && better > 0;
}

// Peels front after front off what is left.
std::vector<std::uint32_t> brute_fronts(const std::vector<Score>& scores) {
  std::vector<std::uint32_t> numbers(scores.size(), 0);
  std::set<std::size_t> left;
  for (std::size_t i = 0; i < scores.size(); ++i) left.insert(i);
  for (std::uint32_t number = 0; !left.empty(); ++number) {
    std::vector<std::size_t> front;
    for (const std::size_t i : left) {
      bool beaten = false;
      for (const std::size_t j : left) beaten = beaten || brute_dominates(scores[j], scores[i]);
      if (!beaten) front.push_back(i);
    }
    for (const std::size_t i : front) {
      numbers[i] = number;
      left.erase(i);
    }
  }
  return numbers;
}

// Looks for the neighbours of each member instead of sorting. Members of equal value are ordered by place.
double brute_crowding(const std::vector<Score>& scores, const std::vector<std::size_t>& front,
                      std::size_t i) {
  double sum = 0;
  for (std::size_t m = 0; m < scores[front[0]].objectives.size(); ++m) {
    const auto at = [&](std::size_t k) { return std::pair(scores[front[k]].objectives[m], k); };
    auto below = std::pair(-kInfinity, std::size_t{0});
    auto above = std::pair(kInfinity, front.size());
    double least = kInfinity;
    double most = -kInfinity;
    for (std::size_t k = 0; k < front.size(); ++k) {
      least = std::min(least, at(k).first);
      most = std::max(most, at(k).first);
      if (at(k) < at(i)) below = std::max(below, at(k));
      if (at(k) > at(i)) above = std::min(above, at(k));
    }
    if (below.first == -kInfinity || above.first == kInfinity) return kInfinity;
    if (most > least) sum += (above.first - below.first) / (most - least);
  }
  return sum;
}

// Small integers, so that ties are frequent; some designs miss limits, some failed.
std::vector<Score> random_scores(Random& random) {
  const std::int64_t objectives = random.integer(1, 4);
  const std::int64_t largest = random.integer(1, 12);
  const bool limits = random.chance(0.4);
  std::vector<Score> scores(static_cast<std::size_t>(random.integer(0, 40)));
  for (Score& score : scores) {
    for (std::int64_t m = 0; m < objectives; ++m) {
      score.objectives.push_back(static_cast<double>(random.integer(0, largest)));
    }
    if (limits && random.chance(0.5)) score.violation = static_cast<double>(random.integer(0, 3));
    if (limits && random.chance(0.1)) score.violation = kInfinity;
  }
  return scores;
}

TEST(Pareto, EqualsBruteForceOnRandomSets) {
  Random random(20);
  for (std::uint64_t i = 0; i < random_cases(3000); ++i) {
    SCOPED_TRACE(i);
    const std::vector<Score> scores = random_scores(random);
    const std::vector<std::uint32_t> numbers = brute_fronts(scores);
    ASSERT_EQ(front_numbers(scores), numbers);
    std::vector<std::size_t> first;
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (numbers[k] == 0) first.push_back(k);
    }
    ASSERT_EQ(pareto_front(scores), first);
    const std::vector<double> distances = crowding_distances(scores, first);
    for (std::size_t k = 0; k < first.size(); ++k) {
      const double expected = brute_crowding(scores, first, k);
      if (std::isinf(expected)) {
        ASSERT_TRUE(std::isinf(distances[k]));
      } else {
        ASSERT_NEAR(distances[k], expected, 1e-12);
      }
    }
    const std::vector<std::size_t> order = best_first(scores);
    ASSERT_EQ(std::set(order.begin(), order.end()).size(), scores.size());
    for (std::size_t k = 1; k < order.size(); ++k) ASSERT_LE(numbers[order[k - 1]], numbers[order[k]]);
  }
}

TEST(Pareto, SmallCases) {
  EXPECT_TRUE(pareto_front({}).empty());
  EXPECT_TRUE(front_numbers({}).empty());
  EXPECT_TRUE(crowding_distances({}, {}).empty());
  // Equal designs do not beat each other.
  const std::vector<Score> equal = {{{1, 2}}, {{1, 2}}, {{1, 3}}};
  EXPECT_EQ(pareto_front(equal), (std::vector<std::size_t>{0, 1}));
  // Infinite values are worse than all others and never become NaN.
  const std::vector<Score> infinite = {{{kInfinity, 1}}, {{2, kInfinity}}, {{2, 2}}, {{3, 1}}};
  EXPECT_EQ(pareto_front(infinite), (std::vector<std::size_t>{2, 3}));
  for (const double distance : crowding_distances(infinite, std::vector<std::size_t>{0, 1, 2, 3})) {
    EXPECT_FALSE(std::isnan(distance));
  }
  EXPECT_TRUE(dominates({{9, 9}, 0}, {{1, 1}, 0.5}));
  EXPECT_TRUE(dominates({{9, 9}, 0.1}, {{1, 1}, 0.5}));
  EXPECT_FALSE(dominates({{1, 1}, 0.5}, {{9, 9}, 0.5}));
}

}  // namespace
}  // namespace lacuna::sweep
