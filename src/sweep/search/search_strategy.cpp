#include "sweep/search/search_strategy.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lacuna::sweep {
namespace {

// Evaluates many points on the cheapest rung; the best of them go up, one in `keep_one_in`, until the whole
// has been evaluated for the few that are left [Jamieson, Talwalkar 2016]. With several objectives the best
// are those of the first fronts, spread over the last one that does not fit as in NSGA-II.
class SuccessiveHalving : public SearchStrategy {
 public:
  // `first`: the rung to begin with.
  SuccessiveHalving(const SearchOptions& options, const SearchSpace& space, std::uint32_t first)
      : options_(options) {
    Random random(options.seed);
    for (SearchPoint& point : PointSampler(space, random).draw(options.points)) {
      proposed_.push_back({std::move(point), first});
    }
  }

  const std::vector<Candidate>& propose() override { return proposed_; }

  void tell(std::span<const Score> scores) override {
    const std::uint32_t rung = proposed_.empty() ? 0 : proposed_.front().rung + 1;
    std::vector<std::size_t> kept = best_first(scores);
    kept.resize((kept.size() + options_.keep_one_in - 1) / options_.keep_one_in);
    std::ranges::sort(kept);  // the order of points does not depend on their scores
    std::vector<Candidate> next;
    if (rung < options_.rungs) {
      for (const std::size_t index : kept) {
        if (scores[index].violation != std::numeric_limits<double>::infinity()) {
          next.push_back({std::move(proposed_[index].point), rung});
        }
      }
    }
    proposed_ = std::move(next);
  }

 private:
  SearchOptions options_;
  std::vector<Candidate> proposed_;
};

// NSGA-II [Deb, Pratap, Agarwal, Meyarivan 2002] over choices instead of real numbers: uniform crossover, and
// mutation that mostly moves to a neighbouring choice where choices are ordered. An evaluation is a
// simulation and gives the same numbers every time, so no point is proposed twice: a child that was seen
// before is mutated again, and replaced by a random point in the end.
class Nsga2 : public SearchStrategy {
 public:
  Nsga2(const SearchOptions& options, const SearchSpace& space)
      : options_(options), space_(space), random_(options.seed), sampler_(space, random_) {
    fill_with_random();
  }

  const std::vector<Candidate>& propose() override { return proposed_; }

  void tell(std::span<const Score> scores) override {
    for (std::size_t i = 0; i < proposed_.size(); ++i) {
      population_.push_back({std::move(proposed_[i].point), scores[i]});
    }
    proposed_.clear();
    select();
    if (++generation_ >= options_.generations || population_.empty()) return;
    const std::size_t wanted = options_.population;
    for (std::size_t tries = 0; proposed_.size() < wanted && tries < kTries * wanted; ++tries) {
      SearchPoint child = make_child();
      if (space_.admit(child)) add(std::move(child));
    }
    fill_with_random();
  }

 private:
  static constexpr double kCrossover = 0.9;
  static constexpr double kStep = 0.7;       // of a mutation of an ordered dimension, to a neighbour
  static constexpr std::size_t kTries = 50;  // children made per child wanted, until random points do

  struct Member {
    SearchPoint point;
    Score score;
  };

  void add(SearchPoint point) {
    if (!seen_.insert(point).second) return;
    proposed_.push_back({std::move(point), options_.rungs - 1});
  }

  void fill_with_random() {
    while (proposed_.size() < options_.population) {
      std::optional<SearchPoint> point = sampler_.next(seen_);
      if (!point) return;  // the space is exhausted
      add(std::move(*point));
    }
  }

  // The best of parents and children, best first, so that a lower index wins a tournament.
  void select() {
    std::vector<Score> scores;
    for (const Member& member : population_) scores.push_back(member.score);
    std::vector<std::size_t> order = best_first(scores);
    order.resize(std::min<std::size_t>(order.size(), options_.population));
    std::vector<Member> best;
    for (const std::size_t index : order) best.push_back(std::move(population_[index]));
    population_ = std::move(best);
  }

  const SearchPoint& tournament() {
    const std::int64_t last = std::ssize(population_) - 1;
    const std::int64_t first = random_.integer(0, last);
    return population_[static_cast<std::size_t>(std::min(first, random_.integer(0, last)))].point;
  }

  SearchPoint make_child() {
    const SearchPoint& mother = tournament();
    const SearchPoint& father = tournament();
    SearchPoint child = mother;
    if (random_.chance(kCrossover)) {
      for (std::size_t d = 0; d < child.size(); ++d) {
        if (random_.chance(0.5)) child[d] = father[d];
      }
    }
    const double rate = 1.0 / static_cast<double>(std::max<std::size_t>(1, child.size()));
    for (std::size_t d = 0; d < child.size(); ++d) {
      if (random_.chance(rate)) child[d] = mutated(child[d], space_.dimensions[d]);
    }
    return child;
  }

  std::uint32_t mutated(std::uint32_t choice, const SearchSpace::Dimension& dimension) {
    if (dimension.choices < 2) return choice;
    if (dimension.ordered && random_.chance(kStep)) {
      if (choice == 0) return 1;
      if (choice + 1 == dimension.choices) return choice - 1;
      return random_.chance(0.5) ? choice - 1 : choice + 1;
    }
    // Any other choice.
    const auto other = static_cast<std::uint32_t>(random_.integer(0, dimension.choices - 2));
    return other < choice ? other : other + 1;
  }

  SearchOptions options_;
  const SearchSpace& space_;
  Random random_;
  PointSampler sampler_;
  std::uint32_t generation_ = 0;
  std::set<SearchPoint> seen_;
  std::vector<Member> population_;
  std::vector<Candidate> proposed_;
};

}  // namespace

std::uint64_t SearchSpace::combinations() const {
  std::uint64_t product = 1;
  for (const Dimension& dimension : dimensions) {
    if (__builtin_mul_overflow(product, std::uint64_t{dimension.choices}, &product)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return product;
}

bool SearchSpace::admit(SearchPoint& point) const {
  if (settle) settle(point);
  return !allowed || allowed(point);
}

PointSampler::PointSampler(const SearchSpace& space, Random& random) : space_(space), random_(random) {
  if (space.combinations() > kListed) return;
  listed_ = true;
  std::set<SearchPoint> points;  // settled ones coincide
  const std::uint64_t combinations = space.combinations();
  for (std::uint64_t i = 0; i < combinations; ++i) {
    SearchPoint point;
    std::uint64_t rest = i;
    for (const SearchSpace::Dimension& dimension : space.dimensions) {
      point.push_back(static_cast<std::uint32_t>(rest % dimension.choices));
      rest /= dimension.choices;
    }
    if (space.admit(point)) points.insert(std::move(point));
  }
  list_.assign(points.begin(), points.end());
  for (std::size_t i = list_.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1));
    std::swap(list_[i - 1], list_[other]);
  }
}

std::optional<SearchPoint> PointSampler::next(const std::set<SearchPoint>& seen) {
  if (listed_) {
    while (!list_.empty()) {
      SearchPoint point = std::move(list_.back());
      list_.pop_back();
      if (!seen.contains(point)) return point;
    }
    return std::nullopt;
  }
  SearchPoint point(space_.dimensions.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t d = 0; d < point.size(); ++d) {
      point[d] = static_cast<std::uint32_t>(random_.integer(0, space_.dimensions[d].choices - 1));
    }
    if (space_.admit(point) && !seen.contains(point)) return point;
  }
  return std::nullopt;
}

std::vector<SearchPoint> PointSampler::draw(std::uint64_t count) {
  std::vector<SearchPoint> points;
  std::set<SearchPoint> seen;
  while (points.size() < count) {
    std::optional<SearchPoint> point = next(seen);
    if (!point) break;
    seen.insert(*point);
    points.push_back(std::move(*point));
  }
  return points;
}

const std::vector<std::string>& search_strategies() {
  static const std::vector<std::string> kNames = {"random", "successive-halving", "nsga2"};
  return kNames;
}

std::uint64_t largest_number_of_points(const SearchOptions& options) {
  if (options.strategy == "random") return options.points;
  if (options.strategy == "nsga2") return std::uint64_t{options.population} * options.generations;
  std::uint64_t all = 0;
  std::uint64_t rung_points = options.points;
  for (std::uint32_t rung = 0; rung < options.rungs; ++rung) {
    all += rung_points;
    rung_points = (rung_points + options.keep_one_in - 1) / options.keep_one_in;
  }
  return all;
}

std::unique_ptr<SearchStrategy> make_search(const SearchOptions& options, const SearchSpace& space) {
  if (options.strategy == "nsga2") return std::make_unique<Nsga2>(options, space);
  // Random search: all points on the last rung.
  const std::uint32_t first = options.strategy == "random" ? options.rungs - 1 : 0;
  return std::make_unique<SuccessiveHalving>(options, space, first);
}

}  // namespace lacuna::sweep
