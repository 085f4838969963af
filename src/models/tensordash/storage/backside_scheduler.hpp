// A scheduler behind the PEs: it turns blocks of outputs into scheduled form as they are produced, one level
// of the hierarchy a cycle [TensorDash §3.7].
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "models/tensordash/config.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "sim/result.hpp"

namespace lacuna::tensordash {

// The iterative version: one level's priority encoders serve all levels in turn, so that a row of scheduled
// form takes as many cycles as there are levels; 6 for the paper's 16 lanes.
class BacksideScheduler {
 public:
  explicit BacksideScheduler(const Connectivity& connectivity)
      : selector_(connectivity), levels_(connectivity.level_masks()) {}

  // A block of outputs, at most as many as there are lanes; the next step of the group in hand.
  void push(std::span<const float> block);
  // No more blocks for this group.
  void end_group() { ended_ = true; }

  // Whether a row can be worked on: the window is full, or holds the rest of the group.
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

// --- does it keep up? ---
// ASSUMPTION(A27): a tile has `schedulers` of them, a block is `lanes` outputs of one position, tiles share
// the blocks evenly, and a queue between accumulators and scheduler evens out bursts inside an operation.
// ASSUMPTION(A28): every block costs a whole row: the zeros of outputs are those after the activation
// function, which a trace has only as the next layer's inputs.
struct BacksideParams {
  std::int64_t schedulers = 1;        // a tile
  std::int64_t cycles_per_block = 0;  // 0: the levels of the connectivity; 1: the combinational scheduler
};

struct BacksideLoad {
  Operation op = Operation::kForward;
  std::int64_t outputs = 0;
  std::int64_t blocks = 0;
  double scale = 1;                    // to the batch trained with
  std::int64_t cycles = 0;             // of the operation without the backside scheduler
  std::int64_t schedule_cycles = 0;    // that the busiest tile's schedulers need
  double needed_rate = 0;              // outputs a tile and cycle
  double offered_rate = 0;             // likewise
  std::int64_t schedulers_needed = 0;  // a tile, for no stalls

  std::int64_t stalls() const { return schedule_cycles > cycles ? schedule_cycles - cycles : 0; }
};
BacksideLoad backside_load(const LayerShape& shape, Operation op, std::int64_t cycles, const Config& config,
                           const BacksideParams& params);

struct LayerBackside {
  std::string name;
  std::string shape;
  std::vector<BacksideLoad> ops;
};
struct BacksideReport {
  std::string path;
  TraceInfo info;
  std::int64_t batch = 1;
  std::int64_t tiles = 1;
  std::int64_t schedulers = 1;
  std::int64_t cycles_per_block = 1;
  std::vector<LayerBackside> layers;
};
// `run`: the trace simulated on this configuration. Forward and input gradients are those of the recorded
// samples; gradients of weights come out once a batch, so that theirs is the load of the whole batch.
BacksideReport trace_backside(const Trace& trace, const RunResult& run, const Config& config,
                              const BacksideParams& params);

}  // namespace lacuna::tensordash
