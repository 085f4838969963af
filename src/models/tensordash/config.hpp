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

struct Config {
  TileShape tile;
  Scheduler scheduler;
  RowSync sync = RowSync::kLockstep;
  Sides sides = Sides::kOne;
  bool scheduled_storage = false;
  bool power_gating = false;
  double gating_threshold = 0;

  // Those of its tiles and memory (TileChip) and TensorDash's own.
  static std::vector<ParamSpec> params();
  static Config from(const Params& params);
};

}  // namespace lacuna::tensordash
