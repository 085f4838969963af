// Cycles from bit masks alone. Row groups are independent, so blocks of them go to threads and, inside a
// block, to the lanes of vectors; the cycles are those of the plain engine to the last one.
#include <algorithm>
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/fast_kernels.hpp"
#include "sim/workload/stream_classes.hpp"

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

// Cycles of each group of streams without zeros: one of each kind is counted.
std::vector<std::uint32_t> cycles_without_zeros(const Config& config, const OperandStreams& streams,
                                                std::int64_t rows) {
  const Alike alike = alike_groups(streams, rows);
  std::vector<std::uint32_t> of_kind(alike.first.size());
  StreamBlock block(rows, streams.steps());
  for (std::size_t i = 0; i < of_kind.size(); ++i) {
    block.load(streams, alike.first[i], 1);
    count_cycles(config, block, &of_kind[i]);
  }
  std::vector<std::uint32_t> cycles;
  cycles.reserve(alike.kind.size());
  for (const std::uint32_t kind : alike.kind) cycles.push_back(of_kind[kind]);
  return cycles;
}

// Cycles of each group of `rows` streams.
std::vector<std::uint32_t> group_cycles(const Config& config, const OperandStreams& streams,
                                        std::int64_t rows) {
  if (has_no_zeros(streams)) return cycles_without_zeros(config, streams, rows);
  const std::int64_t groups = ceil_div(streams.count(), rows);
  std::vector<std::uint32_t> cycles(static_cast<std::size_t>(groups));
  const std::int64_t block_groups = groups_per_block(StreamBlock(rows, streams.steps()));
  parallel_for(static_cast<std::size_t>(ceil_div(groups, block_groups)), 1, [&](std::size_t b) {
    const std::int64_t first = static_cast<std::int64_t>(b) * block_groups;
    StreamBlock block(rows, streams.steps());
    block.load(streams, first, std::min(block_groups, groups - first));
    count_cycles(config, block, cycles.data() + first);
  });
  return cycles;
}

std::vector<std::uint32_t> fast_row_group_cycles(const Config& config, const OperandStreams& streams) {
  if (config.sync == RowSync::kLockstep) return group_cycles(config, streams, config.tile.rows);
  // Decoupled rows are groups of one row each.
  return slowest_of_groups(group_cycles(config, streams, 1), config.tile.rows);
}

// Two-side cycles where neither operand has zeros: every kind of row group meets every kind of column group
// once.
std::int64_t two_side_without_zeros(const Config& config, const PlacedProduct& placed) {
  const std::int64_t steps = placed.rows->steps();
  const Alike row_groups = alike_groups(*placed.rows, config.tile.rows);
  const Alike column_groups = alike_groups(*placed.columns, config.tile.columns);
  StreamBlock rows(config.tile.rows, steps), columns(config.tile.columns, steps);
  StreamBlock pairs(config.tile.rows * config.tile.columns, steps);
  std::vector<std::uint32_t> cycles;  // [kind of row group][kind of column group]
  for (const std::int64_t row_group : row_groups.first) {
    rows.load(*placed.rows, row_group, 1);
    for (const std::int64_t column_group : column_groups.first) {
      columns.load(*placed.columns, column_group, 1);
      pairs.load_pairs(rows, 0, columns);
      count_cycles(config, pairs, &cycles.emplace_back());
    }
  }
  TileClock clock(placed.grid);
  for (std::size_t i = 0; i < row_groups.kind.size(); ++i) {
    const std::uint32_t* of_row = &cycles[row_groups.kind[i] * column_groups.first.size()];
    for (std::size_t j = 0; j < column_groups.kind.size(); ++j) {
      clock.add_pair(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j),
                     of_row[column_groups.kind[j]]);
    }
  }
  return clock.cycles();
}

// Every pair of groups has its own cycles: a group of row streams against a group of column streams. A
// block of columns is loaded once and all row groups pass over it.
std::int64_t two_side(const Config& config, const PlacedProduct& placed) {
  if (has_no_zeros(*placed.rows) && has_no_zeros(*placed.columns))
    return two_side_without_zeros(config, placed);
  const TileGrid& grid = placed.grid;
  const std::int64_t steps = placed.rows->steps();
  const std::int64_t pes = config.tile.rows * config.tile.columns;
  const std::int64_t block_groups = groups_per_block(StreamBlock(pes, steps));
  const auto tile_columns = static_cast<std::size_t>(grid.tile_columns);
  // Cycles of each row group in each tile column.
  std::vector<std::int64_t> sums(static_cast<std::size_t>(grid.row_groups) * tile_columns, 0);

  StreamBlock columns(config.tile.columns, steps);
  for (const std::int64_t block : in_steps(ceil_div(grid.column_groups, block_groups))) {
    const std::int64_t first = block * block_groups;
    columns.load(*placed.columns, first, std::min(block_groups, grid.column_groups - first));
    const std::int64_t row_blocks = ceil_div(grid.row_groups, block_groups);
    parallel_for(static_cast<std::size_t>(row_blocks), 1, [&](std::size_t b) {
      const std::int64_t first_row = static_cast<std::int64_t>(b) * block_groups;
      StreamBlock rows(config.tile.rows, steps);
      rows.load(*placed.rows, first_row, std::min(block_groups, grid.row_groups - first_row));
      StreamBlock pairs(pes, steps);
      std::vector<std::uint32_t> cycles(static_cast<std::size_t>(columns.groups()));
      for (std::int64_t i = 0; i < rows.groups(); ++i) {
        pairs.load_pairs(rows, i, columns);
        count_cycles(config, pairs, cycles.data());
        for (std::int64_t j = 0; j < pairs.groups(); ++j) {
          const std::int64_t tile_column = grid.tile_column_of(first + j);
          sums[static_cast<std::size_t>(first_row + i) * tile_columns +
               static_cast<std::size_t>(tile_column)] += cycles[static_cast<std::size_t>(j)];
        }
      }
    });
  }
  TileClock clock(grid);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    clock.add(static_cast<std::int64_t>(i / tile_columns), static_cast<std::int64_t>(i % tile_columns),
              sums[i]);
  }
  return clock.cycles();
}

}  // namespace

std::string slow_engine_reason(const Config& config) {
  const auto reason = [](std::string_view what) {
    return fmt::format("{} has no vector code: simulating it takes about twenty times as long", what);
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

std::vector<std::uint32_t> row_group_cycles(const Config& config, const OperandStreams& streams) {
  return fast_engine_supports(config) ? fast_row_group_cycles(config, streams)
                                      : plain_row_group_cycles(config, streams);
}

std::int64_t fast_product_cycles(const Config& config, const PlacedProduct& placed) {
  return config.sides == Sides::kBoth ? two_side(config, placed)
                                      : clock_row_groups(placed, fast_row_group_cycles(config, *placed.rows));
}

std::int64_t product_cycles(const Config& config, const PlacedProduct& placed) {
  return fast_engine_supports(config) ? fast_product_cycles(config, placed)
                                      : plain_product_cycles(config, placed);
}

}  // namespace lacuna::tensordash
