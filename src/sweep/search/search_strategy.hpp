// Search of a design space that is too large for a grid.
//
// A strategy proposes points, gets their scores, and proposes again. Its proposals depend on its seed and the
// scores alone, so an interrupted search is resumed by replaying it from the start with the stored scores. It
// knows neither simulator nor database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "sweep/search/pareto.hpp"

namespace lacuna::sweep {

// The index of the choice in each dimension.
using SearchPoint = std::vector<std::uint32_t>;

// One of a list of choices in each dimension, where a condition may forbid combinations.
struct SearchSpace {
  struct Dimension {
    std::uint32_t choices = 1;
    bool ordered = false;  // neighbouring choices are alike, as the sizes 4, 8, 16 are
  };
  std::vector<Dimension> dimensions;
  // Puts choices that have no effect to 0 (a parameter of another machine), so that no two points are the
  // same design. Empty: every choice has an effect.
  std::function<void(SearchPoint&)> settle;
  // Empty: every combination is allowed. Asked about settled points only.
  std::function<bool(const SearchPoint&)> allowed;

  // Combinations, allowed or not; the largest 64-bit number if there are more.
  std::uint64_t combinations() const;
  // Settles the point and returns true if it is allowed.
  bool admit(SearchPoint& point) const;
};

// Draws allowed points at random, each once. A space of up to kListed combinations is listed and shuffled, so
// that the last allowed point is found as surely as the first.
class PointSampler {
 public:
  static constexpr std::uint64_t kListed = 1 << 14;  // an allowed() that builds the machine takes long
  static constexpr int kDraws = 20000;  // in a row without an allowed new point, until there is none

  PointSampler(const SearchSpace& space, Random& random);

  // A point that is not in `seen`. Empty if there is none, or none can be found.
  std::optional<SearchPoint> next(const std::set<SearchPoint>& seen);
  // `count` points, each once; fewer if there are no more.
  std::vector<SearchPoint> draw(std::uint64_t count);

 private:
  const SearchSpace& space_;
  Random& random_;
  bool listed_ = false;
  std::vector<SearchPoint> list_;  // points left, the next one last
};

struct Candidate {
  SearchPoint point;
  // Rung to evaluate it on: 0 is the cheapest, SearchOptions::rungs - 1 the whole. Always the
  // whole, but for successive halving.
  std::uint32_t rung = 0;

  bool operator==(const Candidate&) const = default;
};

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;

  // The points to evaluate next; the same until tell(). No point twice on one rung. Empty: the search is
  // over.
  virtual const std::vector<Candidate>& propose() = 0;
  // Takes the scores of the proposed points, in their order. A point that failed has an infinite violation.
  virtual void tell(std::span<const Score> scores) = 0;
};

struct SearchOptions {
  std::string strategy = "nsga2";  // one of search_strategies()
  std::uint64_t seed = 1;
  std::uint32_t points = 100;      // random: how many; successive-halving: on the lowest rung
  std::uint32_t population = 32;   // nsga2
  std::uint32_t generations = 20;  // nsga2, the first one of random points included
  std::uint32_t keep_one_in = 3;   // successive-halving: how many points per one that goes up a rung
  std::uint32_t rungs = 1;         // successive-halving
};

const std::vector<std::string>& search_strategies();  // random, successive-halving, nsga2

// The most points the search evaluates, those on lower rungs included.
std::uint64_t largest_number_of_points(const SearchOptions& options);

// `space` must outlive it. The caller checks the options: each is at least 1, keep_one_in 2.
std::unique_ptr<SearchStrategy> make_search(const SearchOptions& options, const SearchSpace& space);

}  // namespace lacuna::sweep
