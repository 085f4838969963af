// Cycles from bit masks alone. Row groups are independent, so blocks of them go to threads and, inside a
// block, to the lanes of vectors; the cycles are those of the plain engine to the last one.
#include <algorithm>
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/parallel.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/fast_kernels.hpp"

namespace lacuna::tensordash {
namespace {

constexpr std::int64_t kMaxRows = 32;

// Groups per block: enough to keep the vectors full while groups end at different times, within half of the
// second-level cache.
std::int64_t groups_per_block(const StreamBlock& block) {
  constexpr std::int64_t kBytes = 256 << 10;
  return std::clamp<std::int64_t>(kBytes / (block.pitch() * 2), 16, 256);
}

void count_cycles(const Config& config, const StreamBlock& block, std::uint32_t* cycles) {
  const Connectivity& connectivity = config.scheduler.connectivity();
  if (!lockstep_cycles_avx512(connectivity, block, cycles))
    lockstep_cycles_generic(connectivity, block, cycles);
}

// Decoupled rows are groups of one row each; the tile waits for the slowest of `rows` of them.
std::vector<std::uint32_t> slowest_of(const std::vector<std::uint32_t>& cycles, std::int64_t rows) {
  const std::int64_t groups = ceil_div(static_cast<std::int64_t>(cycles.size()), rows);
  std::vector<std::uint32_t> slowest(static_cast<std::size_t>(groups), 0);
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    std::uint32_t& group = slowest[i / static_cast<std::size_t>(rows)];
    group = std::max(group, cycles[i]);
  }
  return slowest;
}

ProductCycles one_side(const Config& config, const PlacedProduct& placed) {
  const bool lockstep = config.sync == RowSync::kLockstep;
  const OperandStreams& streams = *placed.rows;
  const std::int64_t rows = lockstep ? config.tile.rows : 1;
  const std::int64_t groups = lockstep ? placed.grid.row_groups : streams.count();
  const bool padded = streams.has_padding();
  std::vector<std::uint32_t> cycles(static_cast<std::size_t>(groups));
  std::vector<std::uint32_t> padding_free(padded ? static_cast<std::size_t>(groups) : 0);

  const std::int64_t block_groups = groups_per_block(StreamBlock(rows, streams.steps()));
  const std::int64_t blocks = ceil_div(groups, block_groups);
  parallel_for(static_cast<std::size_t>(blocks), 1, [&](std::size_t b) {
    const std::int64_t first = static_cast<std::int64_t>(b) * block_groups;
    StreamBlock block(rows, streams.steps());
    block.load(streams, first, std::min(block_groups, groups - first));
    count_cycles(config, block, cycles.data() + first);
    if (padded) {
      block.fill_padding(streams, first);
      count_cycles(config, block, padding_free.data() + first);
    }
  });
  const auto chip_cycles = [&](const std::vector<std::uint32_t>& group_cycles) {
    TileClock clock(placed.grid);
    const std::vector<std::uint32_t> merged =
        lockstep ? group_cycles : slowest_of(group_cycles, config.tile.rows);
    for (std::size_t g = 0; g < merged.size(); ++g)
      clock.add_row_group(static_cast<std::int64_t>(g), merged[g]);
    return clock.cycles();
  };
  ProductCycles result;
  result.cycles = chip_cycles(cycles);
  result.padding_free = padded ? chip_cycles(padding_free) : result.cycles;
  return result;
}

// Every pair of groups has cycles of its own: a group of row streams against a group of column streams. A
// block of columns is loaded once and all row groups pass over it.
std::int64_t two_side_cycles(const Config& config, const PlacedProduct& placed, bool fill_padding) {
  const TileGrid& grid = placed.grid;
  const std::int64_t steps = placed.rows->steps();
  const std::int64_t pes = config.tile.rows * config.tile.columns;
  const std::int64_t block_groups = groups_per_block(StreamBlock(pes, steps));
  const auto tile_columns = static_cast<std::size_t>(grid.tile_columns);
  // Cycles of each row group in each tile column.
  std::vector<std::int64_t> sums(static_cast<std::size_t>(grid.row_groups) * tile_columns, 0);

  StreamBlock columns(config.tile.columns, steps);
  for (std::int64_t first = 0; first < grid.column_groups; first += block_groups) {
    columns.load(*placed.columns, first, std::min(block_groups, grid.column_groups - first));
    if (fill_padding) columns.fill_padding(*placed.columns, first);
    const std::int64_t row_blocks = ceil_div(grid.row_groups, block_groups);
    parallel_for(static_cast<std::size_t>(row_blocks), 1, [&](std::size_t b) {
      const std::int64_t first_row = static_cast<std::int64_t>(b) * block_groups;
      StreamBlock rows(config.tile.rows, steps);
      rows.load(*placed.rows, first_row, std::min(block_groups, grid.row_groups - first_row));
      if (fill_padding) rows.fill_padding(*placed.rows, first_row);
      StreamBlock pairs(pes, steps);
      std::vector<std::uint32_t> cycles(static_cast<std::size_t>(columns.groups()));
      for (std::int64_t i = 0; i < rows.groups(); ++i) {
        pairs.load_pairs(rows, i, columns);
        count_cycles(config, pairs, cycles.data());
        for (std::int64_t j = 0; j < pairs.groups(); ++j) {
          const std::int64_t tile_column = (first + j) / grid.column_groups_per_tile();
          sums[static_cast<std::size_t>(first_row + i) * tile_columns +
               static_cast<std::size_t>(tile_column)] += cycles[static_cast<std::size_t>(j)];
        }
      }
    });
  }
  TileClock clock(grid);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto tile_column = static_cast<std::int64_t>(i % tile_columns);
    clock.add_pair(static_cast<std::int64_t>(i / tile_columns), tile_column * grid.column_groups_per_tile(),
                   sums[i]);
  }
  return clock.cycles();
}

ProductCycles two_side(const Config& config, const PlacedProduct& placed) {
  ProductCycles result;
  result.cycles = two_side_cycles(config, placed, false);
  result.padding_free = placed.rows->has_padding() ? two_side_cycles(config, placed, true) : result.cycles;
  return result;
}

}  // namespace

std::string slow_engine_reason(const Config& config) {
  const auto reason = [](std::string_view what) {
    return fmt::format("{} has no vector code: about twenty times slower", what);
  };
  if (config.tile.lanes != StreamBlock::kLanes) return reason(fmt::format("lanes={}", config.tile.lanes));
  if (config.sync == RowSync::kLines) return reason("sync=lines");
  const bool both = config.sides == Sides::kBoth;
  if (both && config.sync != RowSync::kLockstep) return reason("sides=both with decoupled rows");
  const std::int64_t rows = both ? config.tile.rows * config.tile.columns : config.tile.rows;
  if (rows > kMaxRows) {
    return reason(fmt::format("a tile of more than {} {}", kMaxRows, both ? "PEs with sides=both" : "rows"));
  }
  return {};
}

bool fast_engine_supports(const Config& config) { return slow_engine_reason(config).empty(); }

ProductCycles fast_product_cycles(const Config& config, const PlacedProduct& placed) {
  return config.sides == Sides::kBoth ? two_side(config, placed) : one_side(config, placed);
}

ProductCycles product_cycles(const Config& config, const PlacedProduct& placed) {
  if (fast_engine_supports(config)) return fast_product_cycles(config, placed);
  ProductCycles plain;
  plain.cycles = plain_product_cycles(config, placed, false);
  plain.padding_free = placed.rows->has_padding() ? plain_product_cycles(config, placed, true) : plain.cycles;
  return plain;
}

}  // namespace lacuna::tensordash
