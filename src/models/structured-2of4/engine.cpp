#include "models/structured-2of4/engine.hpp"

#include "sim/tile/tile_clock.hpp"

namespace lacuna::structured_2of4 {

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
