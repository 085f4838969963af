// The parameters of TensorDash, checked and resolved.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "models/tensordash/scheduler.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::tensordash {

enum class RowSync {
  kLockstep,   // rows share the columns' staging buffers and slide together
  kDecoupled,  // rows meet at the end of an output only
  kLines,      // the authors' early simulator: see schedule_lines()
};

enum class Sides {
  kOne,   // one scheduler per row: zeros of the row operand are skipped [TensorDash §3.3]
  kBoth,  // one scheduler per PE: pairs with any zero are skipped [TensorDash §3.1, evaluation left as future
          // work there]
};

// Form in which memory holds the tensors of `stored` [TensorDash §3.6].
enum class Storage {
  kDense,      // as values
  kScheduled,  // in scheduled form, in the order in which PEs take them: a PE can run from it [§3.6.1,
               // §3.6.2]
  kBlocks,     // in scheduled form, blocks of lanes x lanes, expanded before they are used [§3.6.3]
};
enum class StoredTensors { kAll, kWeights, kActivations };

struct Config {
  TileShape tile;
  Scheduler scheduler;
  RowSync sync = RowSync::kLockstep;
  Sides sides = Sides::kOne;
  Storage storage = Storage::kDense;
  StoredTensors stored = StoredTensors::kAll;
  std::int64_t backside_schedulers = 1;  // per tile
  std::int64_t backside_cycles = 0;      // per block of outputs; 0: one per level
  bool power_gating = false;
  double gating_threshold = 0;

  // Returns the parameters of its tiles and memory (TileChip) and TensorDash's own.
  static std::vector<ParamSpec> params();
  static Config from(const Params& params);

  bool is_stored(const LayerShape& shape, Operand role) const;  // in scheduled form
  // Returns true if the tiles run from the stored schedule of the row operand, without their schedulers.
  bool runs_from_stored(const LayerShape& shape, Operation op, Operand row_operand) const;
  // Outputs and input gradients are put into scheduled form as they leave the tiles [TensorDash §3.7].
  bool has_backside() const { return storage != Storage::kDense && stored != StoredTensors::kWeights; }
};

}  // namespace lacuna::tensordash
