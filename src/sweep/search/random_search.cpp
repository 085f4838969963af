#include <utility>

#include "sweep/search/strategies.hpp"

namespace lacuna::sweep {

namespace {

// So many allowed points, drawn without replacement, all at once.
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

std::unique_ptr<SearchStrategy> make_random_search(const SearchOptions& options, const SearchSpace& space) {
  return std::make_unique<RandomSearch>(options, space);
}

}  // namespace lacuna::sweep
