// A scheduler behind the PEs: it turns blocks of outputs into scheduled form as they are produced, one level
// of the hierarchy per cycle [TensorDash §3.7].
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "models/tensordash/config.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "tensor/layer_shape.hpp"
#include "tensor/operation.hpp"

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

// The load of backside schedulers by the outputs of an operation [TensorDash §3.7].

// Cycles per block of the scheduler in `config`: one per level unless it says otherwise.
std::int64_t cycles_per_block(const Config& config);
// Lanes whose priority encoders a backside scheduler has: those of as many levels as it works off per cycle,
// 3 for the iterative one, all 16 for the combinational one.
std::int64_t backside_lanes(const Config& config);

// ASSUMPTION(A27): a tile has `backside_schedulers`, a block is `lanes` outputs of one position, tiles share
// the blocks evenly, and a queue between accumulators and scheduler evens out bursts inside an operation.
// ASSUMPTION(A28): every block costs a whole row: the zeros of outputs are those after the activation
// function, which a trace has only as the next layer's inputs.
struct BacksideLoad {
  std::int64_t outputs = 0;
  std::int64_t blocks = 0;
  std::int64_t cycles = 0;             // of the operation
  std::int64_t schedule_cycles = 0;    // that the busiest tile's schedulers need
  double needed_rate = 0;              // what the PEs produce, outputs per tile and cycle
  double offered_rate = 0;             // what the schedulers take, likewise
  std::int64_t schedulers_needed = 0;  // per tile, for no stalls

  std::int64_t stalls() const { return schedule_cycles > cycles ? schedule_cycles - cycles : 0; }
};
// `cycles`: of the operation without backside schedulers.
BacksideLoad backside_load(const LayerShape& shape, Operation op, std::int64_t cycles, const Config& config);

}  // namespace lacuna::tensordash
