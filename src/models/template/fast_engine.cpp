#include <algorithm>

#include "base/work_progress.hpp"
#include "models/template/engine.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::template_machine {

std::int64_t chip_cycles(const Config& config, const TileGrid& grid, const GroupSteps& steps) {
  TileClock clock(grid);
  for (std::size_t group = 0; group < steps.size(); ++group) {
    clock.add_row_group(static_cast<std::int64_t>(group), std::max(steps[group], config.window_cycles));
  }
  return clock.cycles();
}

GroupSteps count_steps(const Config& config, const PlacedProduct& placed) {
  const OperandStreams& rows = *placed.rows;
  GroupSteps counts(static_cast<std::size_t>(placed.grid.row_groups), 0);
  std::vector<std::uint64_t> nonzero(static_cast<std::size_t>(rows.steps()));
  // Long loops go in steps: that moves the progress bar and lets a run be stopped.
  for (const std::int64_t group : in_steps(placed.grid.row_groups)) {
    const std::int64_t first = group * config.tile.rows;
    const std::int64_t end = std::min(rows.count(), first + config.tile.rows);
    std::ranges::fill(nonzero, 0);
    for (std::int64_t stream = first; stream < end; ++stream) {
      for (std::int64_t step = 0; step < rows.steps(); ++step) {
        nonzero[static_cast<std::size_t>(step)] |= rows.word(stream, step);
      }
    }
    counts[static_cast<std::size_t>(group)] = rows.steps() - std::ranges::count(nonzero, 0U);
  }
  return counts;
}

}  // namespace lacuna::template_machine
