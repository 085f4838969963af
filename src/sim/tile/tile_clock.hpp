// From the cycles of groups of streams to those of the chip.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/tile/tile_grid.hpp"

namespace lacuna {

// Cycles of the chip for one product, from the cycles of its groups: each tile works through its block of
// groups, the product ends with its slowest tile.
class TileClock {
 public:
  explicit TileClock(const TileGrid& grid)
      : grid_(grid), sums_(static_cast<std::size_t>(grid.tile_rows * grid.tile_columns), 0) {}

  // One-side: a row group costs the same in every column group, so its tile row spends it once per
  // column group.
  void add_row_group(std::int64_t row_group, std::int64_t cycles) {
    add(row_group, 0, cycles * grid_.column_groups_per_tile());
  }
  // Two-side: every pair of groups has its own cycles.
  void add_pair(std::int64_t row_group, std::int64_t column_group, std::int64_t cycles) {
    add(row_group, column_group / grid_.column_groups_per_tile(), cycles);
  }
  std::int64_t cycles() const { return *std::ranges::max_element(sums_); }

 private:
  void add(std::int64_t row_group, std::int64_t tile_column, std::int64_t cycles) {
    const std::int64_t tile_row = row_group / grid_.row_groups_per_tile();
    sums_[static_cast<std::size_t>(tile_row * grid_.tile_columns + tile_column)] += cycles;
  }
  TileGrid grid_;
  std::vector<std::int64_t> sums_;
};

}  // namespace lacuna
