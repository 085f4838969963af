#include "models/structured-2of4/engine.hpp"

#include <fmt/format.h>

#include "base/chosen.hpp"
#include "base/error.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::structured_2of4 {

std::vector<ParamSpec> Config::params() {
  return {
      ParamSpec::choice("pruned", "W", {"A", "W", "G"},
                        "operand that is pruned to two of four; operations without it run densely",
                        "Mishra et al. 2021 (weights); docs/assumptions.md S1"),
      ParamSpec::choice("violations", "dense", {"dense", "drop"},
                        "what happens where more than two of four are not zero: that part runs densely, or "
                        "the smallest are dropped and the result is another one",
                        "docs/assumptions.md S2"),
      ParamSpec::choice("granularity", "stretch", {"stretch", "streams", "operand"},
                        "how much runs densely because of one such group: two steps of the streams that "
                        "share a tile, those streams whole, or the whole operation as on GPUs",
                        "docs/assumptions.md S3"),
  };
}

Config Config::from(const Params& params, const TileShape& tile) {
  if (tile.lanes % kGroup != 0) {
    throw InputError(params.owner(), fmt::format("lanes={} does not divide into groups of 4", tile.lanes),
                     "set lanes to a multiple of 4");
  }
  return {.tile = tile,
          .pruned = chosen<Operand>(params, "pruned"),
          .drop = params.text("violations") == "drop",
          .granularity = chosen<Granularity>(params, "granularity")};
}

bool Config::applies(const LayerShape& shape, Operation op) const {
  const auto [primary, secondary] = operands(op);
  if (pruned != primary && pruned != secondary) return false;
  // ASSUMPTION(S4): the windows of A overlap in A*G, so that one value is in several groups, a different one
  // for each tap: a pruned A does not exist.
  const bool overlapping =
      pruned == Operand::kA && op == Operation::kWeightGrad && shape.kind == LayerKind::kConv2d;
  return !(drop && overlapping);
}

std::int64_t count_groups(const OperandStreams& streams) {
  return streams.count() * streams.steps() / streams.axis_steps() * ceil_div(streams.axis_elements(), kGroup);
}

PrunedSide::PrunedSide(const PlacedProduct& placed, const Config& config) : grid(placed.grid) {
  const bool on_rows = placed.rows->role == config.pruned;
  streams = on_rows ? placed.rows : placed.columns;
  other = on_rows ? placed.columns : placed.rows;
  together = on_rows ? config.tile.rows : config.tile.columns;
  if (!on_rows) {
    std::swap(grid.row_groups, grid.column_groups);
    std::swap(grid.tile_rows, grid.tile_columns);
    grid.dealing = Dealing::kBlocks;  // as columns are
  }
}

std::int64_t chip_cycles(const Config& config, const PrunedSide& side, const PrunedWork& work) {
  const std::int64_t steps = side.streams->steps();
  TileClock clock(side.grid);
  for (std::size_t i = 0; i < work.together.size(); ++i) {
    const TogetherWork& streams = work.together[i];
    // A last step that has no other to share its cycle with takes one either way.
    std::int64_t cycles = ceil_div(steps, kStretchSteps);
    if (!config.drop) {
      cycles += streams.dense_stretches;
      if (config.granularity == Granularity::kStreams && !streams.fits) cycles = steps;
    }
    clock.add_row_group(static_cast<std::int64_t>(i), cycles);
  }
  return clock.cycles();
}

}  // namespace lacuna::structured_2of4
