// The parameters of TensorDash, checked and resolved.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "models/tensordash/scheduler.hpp"
#include "sim/tile/tile_memory.hpp"

namespace lacuna::tensordash {

enum class RowSync {
  kLockstep,   // rows share the columns' staging buffers and slide together
  kDecoupled,  // rows meet at the end of an output only
  kLines,      // the authors' early simulator: see schedule_lines()
};

enum class Sides {
  kOne,   // a scheduler a row, zeros of the row operand are skipped [TensorDash §3.3]
  kBoth,  // a scheduler a PE, pairs with any zero are skipped [TensorDash §3.1; evaluation left there as
          // future work]
};

struct Config {
  TileShape tile;
  Scheduler scheduler;
  RowSync sync = RowSync::kLockstep;
  Sides sides = Sides::kOne;
  VisitOrder order = VisitOrder::kRowMajor;
  DataType arithmetic = DataType::kFp32;
  SchedulePolicy policy = SchedulePolicy::kSparser;
  bool count_padded_zeros = false;
  bool scheduled_storage = false;
  bool power_gating = false;
  double gating_threshold = 0;

  static std::vector<ParamSpec> params();
  static Config from(const Params& params);
};

}  // namespace lacuna::tensordash
