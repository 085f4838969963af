// The hardware scheduler of a row of processing elements, as the paper describes it: lane by lane, level by
// level. This is the plain form that the fast engine must equal.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "models/tensordash/connectivity.hpp"

namespace lacuna::tensordash {

// Selection of each lane's multiplexer in this cycle: an index into Connectivity::movements(), or kIdle.
using Selection = std::array<std::int16_t, kMaxLanes>;
inline constexpr std::int16_t kIdle = -1;

class Scheduler {
 public:
  explicit Scheduler(Connectivity connectivity) : connectivity_(std::move(connectivity)) {}

  const Connectivity& connectivity() const { return connectivity_; }

  // Selects for every lane the first effectual value it can reach and clears it from the window
  // [TensorDash §3.2]. window[s] holds the effectual bits s steps ahead, for s in [0, depth).
  void select(std::uint64_t* window, Selection& selection) const {
    selection.fill(kIdle);
    for (const std::vector<int>& level : connectivity_.levels()) {
      // Lanes of a level cannot reach each other's choices, so the order inside it does not matter.
      for (const int lane : level) {
        const std::vector<Movement>& movements = connectivity_.movements();
        for (std::size_t m = 0; m < movements.size(); ++m) {
          const std::uint64_t bit = std::uint64_t{1} << source_lane(lane, movements[m]);
          if ((window[movements[m].step] & bit) == 0) continue;
          window[movements[m].step] &= ~bit;
          selection[static_cast<std::size_t>(lane)] = static_cast<std::int16_t>(m);
          break;
        }
      }
    }
  }

  // The AS signal: rows of the staging buffer that are empty from the front, and so drain this
  // cycle: 1..depth.
  int drained(const std::uint64_t* window) const {
    int rows = 0;
    while (rows < connectivity_.depth() && window[rows] == 0) ++rows;
    return rows;
  }

  int source_lane(int lane, const Movement& movement) const {
    const int source = lane + movement.offset;
    return source >= connectivity_.lanes() ? source - connectivity_.lanes() : source;
  }

 private:
  Connectivity connectivity_;
};

constexpr std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The scheduler of one row on bit masks alone, for any number of lanes: what Scheduler selects, a level and a
// movement at a time instead of a lane at a time, and with lanes that do not take part.
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
