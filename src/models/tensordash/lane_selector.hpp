// The scheduler of one row on bit masks alone, for any number of lanes: what Scheduler selects, a level and a
// movement at a time instead of a lane at a time, and with lanes that do not take part.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "models/tensordash/connectivity.hpp"

namespace lacuna::tensordash {

constexpr std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

class LaneSelector {
 public:
  explicit LaneSelector(const Connectivity& connectivity)
      : depth_(connectivity.depth()),
        lanes_(connectivity.lanes()),
        movements_(connectivity.movements()),
        levels_(connectivity.level_masks()) {}

  int depth() const { return depth_; }
  int lanes() const { return lanes_; }

  // One cycle: clears from `window` (the effectual bits of `depth` steps) what the lanes of `lanes` take.
  // `taken(movement, lanes)` is called for each movement that is used, with the lanes that use it. window[0]
  // must lie inside `lanes`.
  template <typename Taken>
  void select(std::uint64_t* window, std::uint64_t lanes, const Taken& taken) const {
    std::uint64_t idle = take_first(window, lanes, taken);
    if (idle == 0) return;
    for (const std::uint64_t level : levels_) select_level(window, level & idle, taken);
  }

  // The dense movement of all lanes. It comes first in every lane's order, and no other lane reaches the
  // first step, so that it needs no levels. Returns the lanes that still look for work.
  template <typename Taken>
  std::uint64_t take_first(std::uint64_t* window, std::uint64_t lanes, const Taken& taken) const {
    const std::uint64_t own = window[0];
    assert((own & ~lanes) == 0);
    if (own != 0) taken(0, own);
    window[0] = 0;
    std::uint64_t later = 0;
    for (int s = 1; s < depth_; ++s) later |= window[s];
    return later == 0 ? 0 : lanes & ~own;
  }

  // The lookahead and lookaside movements of the lanes `idle` of one level [TensorDash §3.2, Fig. 10].
  template <typename Taken>
  void select_level(std::uint64_t* window, std::uint64_t idle, const Taken& taken) const {
    for (std::size_t m = 1; m < movements_.size() && idle != 0; ++m) {
      const Movement& movement = movements_[m];
      const std::uint64_t took = rotate(window[movement.step], movement.offset) & idle;
      if (took == 0) continue;
      idle &= ~took;
      window[movement.step] &= ~rotate(took, lanes_ - movement.offset);
      taken(static_cast<int>(m), took);
    }
  }

  // The AS signal, as Scheduler::drained().
  int drained(const std::uint64_t* window) const {
    int rows = 0;
    while (rows < depth_ && window[rows] == 0) ++rows;
    return rows;
  }

  int source_lane(int lane, int movement) const {
    const int source = lane + movements_[static_cast<std::size_t>(movement)].offset;
    return source >= lanes_ ? source - lanes_ : source;
  }
  const Movement& movement(int index) const { return movements_[static_cast<std::size_t>(index)]; }

 private:
  // Bit l of the result is bit (l + by) mod lanes.
  std::uint64_t rotate(std::uint64_t bits, int by) const {
    if (by == 0 || by == lanes_) return bits;
    return ((bits >> by) | (bits << (lanes_ - by))) & low_bits(lanes_);
  }

  int depth_;
  int lanes_;
  std::vector<Movement> movements_;
  std::vector<std::uint64_t> levels_;
};

}  // namespace lacuna::tensordash
