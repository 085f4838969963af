#include <algorithm>
#include <limits>
#include <utility>

#include "sweep/search/strategies.hpp"

namespace lacuna::sweep {

namespace {

// Evaluates many points on the cheapest rung; the best of them go up, one in `keep_one_in`, until the whole
// has been evaluated for the few that are left [Jamieson, Talwalkar 2016]. With several objectives the best
// are those of the first fronts, spread over the last one that does not fit as in NSGA-II.
class SuccessiveHalving : public SearchStrategy {
 public:
  SuccessiveHalving(const SearchOptions& options, const SearchSpace& space) : options_(options) {
    Random random(options.seed);
    for (SearchPoint& point : PointSampler(space, random).draw(options.points)) {
      proposed_.push_back({std::move(point), 0});
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

}  // namespace

std::unique_ptr<SearchStrategy> make_successive_halving(const SearchOptions& options,
                                                        const SearchSpace& space) {
  return std::make_unique<SuccessiveHalving>(options, space);
}

}  // namespace lacuna::sweep
