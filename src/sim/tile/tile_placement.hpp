// How an operation is laid on the tiles, skipping zeros or not: which operand is on the rows, in which order
// windows are visited, how the tiles divide the products. Machines of tiles differ only in what they do with
// it.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"
#include "sim/workload/schedule_policy.hpp"

namespace lacuna {

struct TilePlan {
  TileShape tile;
  SchedulePolicy policy = OperandRule::kSparser;
  VisitOrder order = VisitOrder::kRowMajor;
  bool count_border = false;  // the border is among the zeros of A when the sparser operand is chosen

  // Declared once for every machine of tiles.
  static std::vector<ParamSpec> params();
  static TilePlan from(const Params& params);
};

// The products of an operation on their tiles. Moving it keeps the pointers of `placed` valid; copying would
// not.
struct Placement {
  Operand row_operand = Operand::kA;  // the one that is, or would be, scheduled
  std::vector<LaneProduct> products;
  std::vector<PlacedProduct> placed;

  Placement() = default;
  Placement(Placement&&) = default;
  Placement(const Placement&) = delete;

  // Of the machine that multiplies every pair.
  std::int64_t dense_cycles() const;
};
// The operand that is, or would be, scheduled.
Operand row_operand(const Layer& layer, Operation op, const TilePlan& plan);
Placement place_operation(const Layer& layer, Operation op, const TilePlan& plan);

}  // namespace lacuna
