// A scheduler behind the PEs: it turns blocks of outputs into scheduled form as they are produced, one level
// of the hierarchy per cycle [TensorDash §3.7].
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "models/tensordash/storage/scheduled_form.hpp"

namespace lacuna::tensordash {

// The iterative version: one level's priority encoders serve one level after another, so that a row of
// scheduled form takes as many cycles as there are levels; 6 for the paper's 16 lanes.
class BacksideScheduler {
 public:
  explicit BacksideScheduler(const Connectivity& connectivity)
      : selector_(connectivity), levels_(connectivity.level_masks()) {}

  // A block of outputs, at most as many as there are lanes; the next step of the group in hand.
  void push(std::span<const float> block);
  // No more blocks for this group.
  void end_group() { ended_ = true; }

  // True if a row can be worked on: the window is full, or holds the rest of the group.
  bool ready() const {
    return !steps_.empty() && (ended_ || steps_.size() >= static_cast<std::size_t>(selector_.depth()));
  }
  // One cycle. Does nothing unless a row is in work or ready(). True when it completed a row.
  bool cycle();

  // The group is complete: it has ended and all of it is scheduled.
  bool done() const { return ended_ && steps_.empty(); }
  // The scheduled group; the next one may begin.
  ScheduledGroup take();

 private:
  struct Step {
    std::vector<float> values;
    std::uint64_t effectual = 0;
  };
  void begin_row();
  void finish_row();

  LaneSelector selector_;
  std::vector<std::uint64_t> levels_;
  std::deque<Step> steps_;  // the window and what waits behind it
  bool ended_ = false;
  std::size_t level_ = 0;  // the next level of the row in work; 0: none
  std::vector<std::uint64_t> window_;
  ScheduledGroup group_;
};

}  // namespace lacuna::tensordash
