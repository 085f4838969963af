// The hardware scheduler of a row of processing elements, as the paper describes it: lane by lane, level by
// level. This is the plain form that the fast engine must equal.
#pragma once

#include <array>
#include <cstdint>

#include "models/tensordash/connectivity.hpp"

namespace lacuna::tensordash {

// What the multiplexer of each lane selects this cycle: an index into Connectivity::movements(), or kIdle.
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

}  // namespace lacuna::tensordash
