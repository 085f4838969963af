// From the cycles of groups of streams to those of the chip.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/tile/tile_grid.hpp"
#include "sim/unit_record.hpp"

namespace lacuna {

// Cycles of the chip for one product, from the cycles of its groups: each tile works through the groups dealt
// to it, the product ends with its slowest tile. Row groups come in order.
class TileClock {
 public:
  explicit TileClock(const TileGrid& grid)
      : grid_(grid),
        sums_(static_cast<std::size_t>(grid.tile_rows * grid.tile_columns), 0),
        waiting_(grid.dealing == Dealing::kQueue ? static_cast<std::size_t>(grid.tile_columns) : 0) {}

  // One-side: a row group costs the same in every column group, so its tile row spends it once per
  // column group.
  void add_row_group(std::int64_t row_group, std::int64_t cycles) {
    columns_alike_ = true;
    add(row_group, 0, cycles * grid_.column_groups_per_tile());
  }
  // Two-side: every pair of groups has its own cycles.
  void add_pair(std::int64_t row_group, std::int64_t column_group, std::int64_t cycles) {
    add(row_group, grid_.tile_column_of(column_group), cycles);
  }
  // Some or all pairs of a row group in a tile column.
  void add(std::int64_t row_group, std::int64_t tile_column, std::int64_t cycles) {
    if (waiting_.empty()) {
      sum(tile_column, grid_.tile_row_of(row_group)) += cycles;
      return;
    }
    Waiting& next = waiting_[static_cast<std::size_t>(tile_column)];
    if (next.row_group != row_group) {
      start(tile_column);
      next.row_group = row_group;
    }
    next.cycles += cycles;
  }
  // Called once, when all is added; UnitRecord gets how long each tile was busy.
  std::int64_t cycles() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) start(static_cast<std::int64_t>(i));
    const std::int64_t slowest = *std::ranges::max_element(sums_);
    if (columns_alike_ && UnitRecording::on()) fill_columns();
    UnitRecording::add(slowest, sums_);
    return slowest;
  }

 private:
  // At the head of a tile column's queue.
  struct Waiting {
    std::int64_t row_group = 0;
    std::int64_t cycles = 0;
  };

  std::int64_t& sum(std::int64_t tile_column, std::int64_t tile_row) {
    return sums_[static_cast<std::size_t>(tile_column * grid_.tile_rows + tile_row)];
  }
  // One-side: gives each tile column the work of the first, for as many column groups as it has.
  void fill_columns() {
    const std::int64_t most = std::max<std::int64_t>(grid_.column_groups_per_tile(), 1);
    for (std::int64_t column = grid_.tile_columns; column-- > 0;) {
      for (std::int64_t row = 0; row < grid_.tile_rows; ++row)
        sum(column, row) = sum(0, row) / most * grid_.column_groups_of(column);
    }
  }
  // On the tile that is free first, of equals the one of the first tile row.
  void start(std::int64_t tile_column) {
    std::int64_t* first = &sum(tile_column, 0);
    Waiting& next = waiting_[static_cast<std::size_t>(tile_column)];
    *std::min_element(first, first + grid_.tile_rows) += next.cycles;
    next.cycles = 0;
  }

  TileGrid grid_;
  bool columns_alike_ = false;
  std::vector<std::int64_t> sums_;  // by tile
  std::vector<Waiting> waiting_;    // by tile column; empty without queues
};

// Cycles of each group of `rows` streams of a tile that wait for the slowest of them.
inline std::vector<std::uint32_t> slowest_of_groups(const std::vector<std::uint32_t>& cycles,
                                                    std::int64_t rows) {
  const auto groups = static_cast<std::size_t>(ceil_div(std::ssize(cycles), rows));
  std::vector<std::uint32_t> slowest(groups, 0);
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    std::uint32_t& group = slowest[i / static_cast<std::size_t>(rows)];
    group = std::max(group, cycles[i]);
  }
  return slowest;
}

// Cycles of the chip where row group i takes cycles[i] in every column group.
template <typename Cycles>
std::int64_t clock_row_groups(const TileGrid& grid, const Cycles& cycles) {
  TileClock clock(grid);
  std::int64_t group = 0;
  for (const std::int64_t each : cycles) clock.add_row_group(group++, each);
  return clock.cycles();
}
// The same for the column groups that the product's row groups meet.
template <typename Cycles>
std::int64_t clock_row_groups(const PlacedProduct& placed, const Cycles& cycles) {
  if (placed.needed == nullptr) return clock_row_groups(placed.grid, cycles);
  TileClock clock(placed.grid);
  const PlacedProduct::Met* met = placed.met.data();
  std::int64_t group = 0;
  for (const std::int64_t each : cycles) {
    for (std::int64_t column = 0; column < placed.grid.tile_columns; ++column)
      clock.add(group, column, each * (met++)->groups);
    ++group;
  }
  return clock.cycles();
}
// The same where every row group takes all steps of the product.
inline std::int64_t clock_all_steps(const PlacedProduct& placed) {
  return clock_row_groups(placed, std::vector<std::int64_t>(static_cast<std::size_t>(placed.grid.row_groups),
                                                            placed.rows->steps()));
}

}  // namespace lacuna
