#include "models/cnvlutin/engine.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/chosen.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::cnvlutin {
namespace {

// Each row moves to its next window by itself; the tile is done when its slowest row is.
std::int64_t free_rows(const TileShape& tile, const TileGrid& grid,
                       const std::vector<std::uint32_t>& cycles) {
  const bool queued = grid.dealing == Dealing::kQueue;
  TileGrid by_row = grid;
  by_row.tile_rows *= tile.rows;
  if (!queued) by_row.dealing = Dealing::kTurns;
  TileClock clock(by_row);
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    const auto stream = static_cast<std::int64_t>(i);
    const std::int64_t tile_row = grid.tile_row_of(stream / tile.rows);
    clock.add_row_group(queued ? stream : tile_row * tile.rows + stream % tile.rows, cycles[i]);
  }
  return clock.cycles();
}

std::int64_t chip_cycles(const Config& config, const TileGrid& grid,
                         const std::vector<std::uint32_t>& cycles) {
  // ASSUMPTION(C3): rows of a tile share the columns' values, which change when all rows are done.
  return config.rows_wait ? clock_row_groups(grid, slowest_of_groups(cycles, config.tile.rows))
                          : free_rows(config.tile, grid, cycles);
}

}  // namespace

std::vector<ParamSpec> Config::params() {
  return {
      ParamSpec::choice("bricks", "lane", {"lane", "step"},
                        "what a brick of encoded values is: consecutive values of one lane, or the values of "
                        "one step, which then go to one lane together",
                        "Cnvlutin; docs/assumptions.md C1"),
      ParamSpec::integer("brick_values", 16, 2, 64, "values",
                         "values of a brick with bricks=lane; with bricks=step it has one per lane",
                         "Cnvlutin (16); docs/assumptions.md C1"),
      ParamSpec::integer("empty_brick_cycles", 0, 0, 1, "cycles",
                         "what a brick without non-zeros costs its lane", "docs/assumptions.md C2"),
      ParamSpec::integer("window_cycles", 1, 0, 1, "cycles", "the least that a window takes",
                         "docs/assumptions.md C2"),
      ParamSpec::choice("row_sync", "window", {"window", "free"},
                        "rows of a tile wait for each other at the end of each window, or only at the end of "
                        "all windows that the tile works on",
                        "docs/assumptions.md C3"),
      ParamSpec::integer("slice_steps", 0, 0, 65536, "steps",
                         "steps of a window that a lane's slice of the column buffers holds, at the end of "
                         "which lanes wait for each other too; 0: a whole window, however long",
                         "docs/assumptions.md C4"),
  };
}

Config Config::from(const Params& params, const TileShape& tile) {
  return {.tile = tile,
          .bricks = chosen<Bricks>(params, "bricks"),
          .brick_values = params.integer("brick_values"),
          .empty_brick_cycles = params.integer("empty_brick_cycles"),
          .window_cycles = params.integer("window_cycles"),
          .slice_steps = params.integer("slice_steps"),
          .rows_wait = params.text("row_sync") == "window"};
}

int Config::offset_bits() const {
  const std::int64_t values = bricks == Bricks::kLane ? brick_values : tile.lanes;
  return std::bit_width(static_cast<std::uint64_t>(values - 1));
}

void add_streams(const Config& config, const PlacedProduct& placed, const StreamWork& streams,
                 TileOutcome& outcome) {
  const std::int64_t busy = std::accumulate(streams.cycles.begin(), streams.cycles.end(), std::int64_t{0});
  const std::int64_t passes = placed.grid.column_groups;
  outcome.compute_cycles += chip_cycles(config, placed.grid, streams.cycles);
  // A lane asks for its values of all columns of the tile; lanes of a row wait for the slowest.
  outcome.counters[0].value += streams.nonzeros * passes;
  outcome.counters[1].value += (busy * config.tile.lanes - streams.nonzeros) * passes;
}

}  // namespace lacuna::cnvlutin
