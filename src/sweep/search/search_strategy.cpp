#include "sweep/search/search_strategy.hpp"

#include <cassert>
#include <utility>

#include "sweep/search/strategies.hpp"

namespace lacuna::sweep {

namespace {

// Allowed points drawn without replacement, all at once.
class RandomSearch : public SearchStrategy {
 public:
  RandomSearch(const SearchOptions& options, const SearchSpace& space) {
    Random random(options.seed);
    for (SearchPoint& point : PointSampler(space, random).draw(options.points)) {
      proposed_.push_back({std::move(point), options.rungs - 1});
    }
  }

  const std::vector<Candidate>& propose() override { return proposed_; }
  void tell(std::span<const Score>) override { proposed_.clear(); }

 private:
  std::vector<Candidate> proposed_;
};

}  // namespace

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
  if (options.strategy == "random") return std::make_unique<RandomSearch>(options, space);
  if (options.strategy == "successive-halving") return make_successive_halving(options, space);
  assert(options.strategy == "nsga2");
  return make_nsga2(options, space);
}

}  // namespace lacuna::sweep
