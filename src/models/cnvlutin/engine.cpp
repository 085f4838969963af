#include "models/cnvlutin/engine.hpp"

#include <algorithm>
#include <numeric>

#include "sim/tile/tile_clock.hpp"

namespace lacuna::cnvlutin {
namespace {

// ASSUMPTION(C3): rows of a tile share the columns' values, which change when all rows are done.
std::int64_t waiting_rows(const TileShape& tile, const TileGrid& grid,
                          const std::vector<std::uint32_t>& cycles) {
  TileClock clock(grid);
  for (std::size_t first = 0; first < cycles.size(); first += static_cast<std::size_t>(tile.rows)) {
    const std::size_t end = std::min(cycles.size(), first + static_cast<std::size_t>(tile.rows));
    const std::uint32_t slowest = *std::max_element(cycles.begin() + static_cast<std::ptrdiff_t>(first),
                                                    cycles.begin() + static_cast<std::ptrdiff_t>(end));
    clock.add_row_group(static_cast<std::int64_t>(first) / tile.rows, slowest);
  }
  return clock.cycles();
}

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
  return config.rows_wait ? waiting_rows(config.tile, grid, cycles) : free_rows(config.tile, grid, cycles);
}

}  // namespace

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
