// Placement of an operation on the tiles, skipping zeros or not: which operand is on the rows, in which order
// windows are visited, how the tiles divide the products. Machines of tiles differ only in what they do with
// it.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"
#include "sim/workload/schedule_policy.hpp"

namespace lacuna {

// Totals of a chip that stay those of the published design [TensorDash Table 2] when its tiles are changed:
// otherwise what Table 2 gives per tile follows the tiles, and what it gives per chip does not.
struct TilePins {
  // 16 tiles of 4 x 4 PEs of 16 lanes.
  static constexpr std::int64_t kTiles = 16, kLanes = 16, kMultipliers = 4096;

  bool multipliers = false;  // the number of tiles follows from what a tile is
  bool memory = false;       // AM, BM and CM hold and deliver as many values

  static TilePins from(const Params& params);
  // The parameter `pin`; `multipliers` says what gives way to keep their number.
  static ParamSpec param(const std::string& multipliers);

  // Tiles of the chip, `tile` being the parameters as given. Throws InputError if the multipliers do not make
  // whole tiles, or if another number of tiles was asked for.
  std::int64_t tiles(const Params& params, const TileShape& tile) const;
  // Banks of each of AM, BM and CM on the chip.
  std::int64_t sram_banks(std::int64_t per_tile, const TileShape& tile) const;
};

// The parameters of a machine of tiles with `tiles` as it comes out, for the configuration that results
// carry.
Params resolve_tiles(Params params);

// Outputs of an input gradient that the tiles leave out because nobody needs them [docs/assumptions.md U2].
enum class LeftOutOutputs {
  kNone,
  kGroups,   // those of a row group and a column group if no PE has a needed one
  kColumns,  // those of the columns that no row of a group needs: the others move together
};

struct TilePlan {
  TileShape tile;
  SchedulePolicy policy = OperandRule::kSparser;
  VisitOrder order = VisitOrder::kRowMajor;
  LeftOutOutputs left_out = LeftOutOutputs::kNone;
  bool count_border = false;  // the border is among the zeros of A when the sparser operand is chosen

  // Returns true if results of the operation are left out.
  bool leaves_out(const Layer& layer, Operation op) const {
    return left_out != LeftOutOutputs::kNone && has_unneeded_outputs(layer, op);
  }

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

  // Returns the cycles of the machine that multiplies every pair.
  std::int64_t dense_cycles() const;
  // MACs whose result is needed, of `all`, after leave_out_outputs().
  std::int64_t needed_macs(std::int64_t all) const;
};
// The operand that is, or would be, scheduled.
Operand row_operand(const Layer& layer, Operation op, const TilePlan& plan);
Placement place_operation(const Layer& layer, Operation op, const TilePlan& plan);
// Leaves out the outputs where A is zero; `a` is its mask as recorded, or of values.
void leave_out_outputs(const Layer& layer, Operation op, const TilePlan& plan, const MaskView& a,
                       Placement& placement);

}  // namespace lacuna
