// The load of backside schedulers by the outputs of an operation [TensorDash §3.7].
#pragma once

#include <cstdint>

#include "models/tensordash/config.hpp"
#include "tensor/layer_shape.hpp"
#include "tensor/operation.hpp"

namespace lacuna::tensordash {

// Of the scheduler that `config` has: one level per cycle unless it says otherwise.
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
