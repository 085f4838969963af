// The space of a search: one of a list of choices in each dimension, where a condition may forbid
// combinations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace lacuna::sweep {

// The index of the choice in each dimension.
using SearchPoint = std::vector<std::uint32_t>;

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

}  // namespace lacuna::sweep
