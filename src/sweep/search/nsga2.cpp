#include <algorithm>
#include <utility>

#include "sweep/search/strategies.hpp"

namespace lacuna::sweep {

namespace {

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

std::unique_ptr<SearchStrategy> make_nsga2(const SearchOptions& options, const SearchSpace& space) {
  return std::make_unique<Nsga2>(options, space);
}

}  // namespace lacuna::sweep
