#include "sweep/search/search_strategy.hpp"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>

#include "base/testing.hpp"

namespace lacuna::sweep {
namespace {

using Evaluate = std::function<Score(const Candidate&)>;

struct Evaluated {
  std::vector<Candidate> candidates;
  std::vector<Score> scores;
  std::vector<std::size_t> generations;  // their sizes
};

Evaluated run(const SearchOptions& options, const SearchSpace& space, const Evaluate& evaluate) {
  const std::unique_ptr<SearchStrategy> search = make_search(options, space);
  Evaluated all;
  while (!search->propose().empty()) {
    const std::vector<Candidate> asked = search->propose();
    EXPECT_EQ(asked, search->propose());
    std::vector<Score> scores;
    for (const Candidate& candidate : asked) scores.push_back(evaluate(candidate));
    all.candidates.insert(all.candidates.end(), asked.begin(), asked.end());
    all.scores.insert(all.scores.end(), scores.begin(), scores.end());
    all.generations.push_back(asked.size());
    search->tell(scores);
  }
  return all;
}

// The area that the designs which keep the limits dominate, up to a corner. Two objectives.
double hypervolume(const std::vector<Score>& scores, double corner_x, double corner_y) {
  std::map<double, double> best;  // x -> least y
  for (const Score& score : scores) {
    if (score.violation > 0 || score.objectives[0] >= corner_x) continue;
    const auto [at, fresh] = best.try_emplace(score.objectives[0], score.objectives[1]);
    if (!fresh) at->second = std::min(at->second, score.objectives[1]);
  }
  double area = 0;
  double y = corner_y;
  for (const auto& [x, least] : best) {
    if (least >= y) continue;
    area += (corner_x - x) * (y - least);
    y = least;
  }
  return area;
}

// ZDT1 [Zitzler, Deb, Thiele 2000] with each variable one of 21 values. The true front is 1 - sqrt(x).
SearchSpace zdt1_space() {
  return {.dimensions = std::vector<SearchSpace::Dimension>(10, {21, true}), .settle = {}, .allowed = {}};
}
Score zdt1(const Candidate& candidate) {
  const SearchPoint& point = candidate.point;
  double rest = 0;
  for (std::size_t i = 1; i < point.size(); ++i) rest += point[i] / 20.0;
  const double g = 1 + 9 * rest / static_cast<double>(point.size() - 1);
  const double x = point[0] / 20.0;
  return {{x, g * (1 - std::sqrt(x / g))}, 0};
}

// A knapsack with two profits and a weight limit, as 0/1 choices.
struct Knapsack {
  explicit Knapsack(std::size_t items, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < items; ++i) {
      gold.push_back(static_cast<double>(random.integer(10, 100)));
      silver.push_back(static_cast<double>(random.integer(10, 100)));
      weight.push_back(static_cast<double>(random.integer(10, 100)));
      limit += weight.back() / 2;
    }
  }
  Score operator()(const Candidate& candidate) const {
    double g = 0;
    double s = 0;
    double w = 0;
    for (std::size_t i = 0; i < gold.size(); ++i) {
      if (candidate.point[i] == 0) continue;
      g += gold[i];
      s += silver[i];
      w += weight[i];
    }
    return {{-g, -s}, w > limit ? (w - limit) / limit : 0};
  }
  SearchSpace space() const {
    return {.dimensions = std::vector<SearchSpace::Dimension>(gold.size(), {2, false}),
            .settle = {},
            .allowed = {}};
  }
  std::vector<double> gold, silver, weight;
  double limit = 0;
};

TEST(Search, Nsga2BeatsRandomOnZdt1) {
  const SearchSpace space = zdt1_space();
  for (std::uint64_t seed = 1; seed <= random_cases(5); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const SearchOptions nsga2{.strategy = "nsga2", .seed = seed, .population = 40, .generations = 40};
    const SearchOptions random{.strategy = "random", .seed = seed, .points = 1600};
    const Evaluated guided = run(nsga2, space, zdt1);
    const Evaluated blind = run(random, space, zdt1);
    ASSERT_EQ(guided.candidates.size(), 1600U);
    ASSERT_EQ(blind.candidates.size(), 1600U);
    const double best = hypervolume(
        [] {
          std::vector<Score> front;
          for (int i = 0; i <= 20; ++i) front.push_back({{i / 20.0, 1 - std::sqrt(i / 20.0)}, 0});
          return front;
        }(),
        1.1, 6);
    const double found = hypervolume(guided.scores, 1.1, 6);
    EXPECT_GT(found, 0.97 * best);
    EXPECT_LT(hypervolume(blind.scores, 1.1, 6), 0.75 * found);
  }
}

TEST(Search, Nsga2FindsTheKnapsacksFront) {
  const Knapsack small(12, 3);
  const SearchSpace space = small.space();
  std::vector<Score> everything;
  for (std::uint32_t bits = 0; bits < 1U << 12; ++bits) {
    Candidate all{SearchPoint(12)};
    for (std::size_t i = 0; i < 12; ++i) all.point[i] = bits >> i & 1;
    everything.push_back(small(all));
  }
  const double best = hypervolume(everything, 0, 0);
  const Evaluated found =
      run({.strategy = "nsga2", .seed = 5, .population = 30, .generations = 20}, space, small);
  EXPECT_GT(hypervolume(found.scores, 0, 0), 0.99 * best);

  const Knapsack large(40, 4);
  const SearchSpace wide = large.space();
  const Evaluated guided =
      run({.strategy = "nsga2", .seed = 6, .population = 40, .generations = 40}, wide, large);
  const Evaluated blind = run({.strategy = "random", .seed = 6, .points = 1600}, wide, large);
  EXPECT_GT(hypervolume(guided.scores, 0, 0), 1.1 * hypervolume(blind.scores, 0, 0));
}

TEST(Search, NoPointTwiceAndOnlyAllowedOnes) {
  // columns x rows = 16, and a third parameter that machine 1 does not have.
  const std::vector<std::uint32_t> sizes = {1, 2, 4, 8, 16};
  SearchSpace space;
  space.dimensions = {{5, true}, {5, true}, {2, false}, {6, false}};
  space.settle = [](SearchPoint& point) {
    if (point[2] == 1) point[3] = 0;
  };
  space.allowed = [&](const SearchPoint& point) { return sizes[point[0]] * sizes[point[1]] == 16; };
  for (const std::string& strategy : search_strategies()) {
    SCOPED_TRACE(strategy);
    const SearchOptions options{.strategy = strategy, .points = 1000, .population = 10, .generations = 100};
    const Evaluated all = run(options, space, [&](const Candidate& candidate) {
      EXPECT_TRUE(space.allowed(candidate.point));
      return Score{{static_cast<double>(candidate.point[0]), static_cast<double>(candidate.point[3])}, 0};
    });
    std::set<SearchPoint> points;
    for (const Candidate& candidate : all.candidates) EXPECT_TRUE(points.insert(candidate.point).second);
    EXPECT_EQ(points.size(), 5U * (6 + 1));  // the whole space, and then it ends
  }
}

TEST(Search, SeedAndScoresDecideEverything) {
  const SearchSpace space = zdt1_space();
  for (const std::string& strategy : search_strategies()) {
    SCOPED_TRACE(strategy);
    const SearchOptions options{.strategy = strategy,
                                .seed = 9,
                                .points = 90,
                                .population = 20,
                                .generations = 6,
                                .keep_one_in = 3,
                                .rungs = 3};
    const Evaluated first = run(options, space, zdt1);
    const Evaluated second = run(options, space, zdt1);
    EXPECT_EQ(first.candidates, second.candidates);
    EXPECT_LE(first.candidates.size(), largest_number_of_points(options));
    SearchOptions other = options;
    other.seed = 10;
    EXPECT_NE(run(other, space, zdt1).candidates, first.candidates);
    // Resumed after each generation: given the same scores, its next proposals are the same.
    for (std::size_t stop = 1; stop < first.generations.size(); ++stop) {
      const std::unique_ptr<SearchStrategy> resumed = make_search(options, space);
      std::size_t at = 0;
      for (std::size_t g = 0; g < first.generations.size(); ++g) {
        const std::vector<Candidate> asked = resumed->propose();
        ASSERT_EQ(asked.size(), first.generations[g]);
        std::vector<Score> scores;
        for (const Candidate& candidate : asked) {
          ASSERT_EQ(candidate, first.candidates[at]);
          scores.push_back(g < stop ? first.scores[at] : zdt1(candidate));
          ++at;
        }
        resumed->tell(scores);
      }
      EXPECT_TRUE(resumed->propose().empty());
    }
  }
}

TEST(Search, SuccessiveHalvingKeepsTheBest) {
  // 81 designs of known worth; the lower the rung, the larger the error of what is seen of it.
  SearchSpace space;
  space.dimensions = {{81, true}};
  const SearchOptions options{
      .strategy = "successive-halving", .seed = 2, .points = 81, .keep_one_in = 3, .rungs = 4};
  Random noise(11);
  const Evaluated all = run(options, space, [&](const Candidate& candidate) {
    const double error = noise.uniform() * 10 * (3 - candidate.rung);
    return Score{{candidate.point[0] + error}, 0};
  });
  EXPECT_EQ(all.generations, (std::vector<std::size_t>{81, 27, 9, 3}));
  EXPECT_EQ(largest_number_of_points(options), 120U);
  double best = 100;
  for (std::size_t i = 0; i < all.candidates.size(); ++i) {
    if (all.candidates[i].rung == 3) best = std::min(best, all.scores[i].objectives[0]);
  }
  EXPECT_LE(best, 3);
}

TEST(Search, FailuresAreNotKept) {
  SearchSpace space;
  space.dimensions = {{30, true}, {30, true}};
  constexpr double kFailed = std::numeric_limits<double>::infinity();
  const auto half_fail = [&](const Candidate& candidate) {
    const auto sum = static_cast<double>(candidate.point[0] + candidate.point[1]);
    return Score{{sum}, candidate.point[0] % 2 == 0 ? kFailed : 0};
  };
  const Evaluated halving =
      run({.strategy = "successive-halving", .points = 60, .keep_one_in = 2, .rungs = 3}, space, half_fail);
  for (const Candidate& candidate : halving.candidates) {
    EXPECT_TRUE(candidate.rung == 0 || candidate.point[0] % 2 == 1);
  }
  const auto all_fail = [&](const Candidate&) { return Score{{0}, kFailed}; };
  for (const std::string& strategy : search_strategies()) {
    const SearchOptions options{
        .strategy = strategy, .points = 20, .population = 5, .generations = 4, .rungs = 2};
    EXPECT_EQ(run(options, space, all_fail).candidates.size(), 20U) << strategy;
  }
}

TEST(Search, LargeAndEmptySpaces) {
  SearchSpace huge;
  huge.dimensions.assign(40, {1000, true});
  EXPECT_EQ(huge.combinations(), std::numeric_limits<std::uint64_t>::max());
  const auto constant = [](const Candidate&) { return Score{{0}, 0}; };
  EXPECT_EQ(run({.strategy = "random", .points = 500}, huge, constant).candidates.size(), 500U);
  huge.allowed = [](const SearchPoint&) { return false; };
  SearchSpace nothing;
  nothing.dimensions = {{4, true}};
  nothing.allowed = huge.allowed;
  const SearchSpace single;  // no dimension: one design
  for (const std::string& strategy : search_strategies()) {
    EXPECT_TRUE(run({.strategy = strategy}, huge, constant).candidates.empty()) << strategy;
    EXPECT_TRUE(run({.strategy = strategy}, nothing, constant).candidates.empty()) << strategy;
    EXPECT_EQ(run({.strategy = strategy}, single, constant).candidates.size(), 1U) << strategy;
  }
}

}  // namespace
}  // namespace lacuna::sweep
