// What the two engines have in common: cycles of one product, and from them the cycles of the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "models/tensordash/config.hpp"

namespace lacuna::tensordash {

// Cycles of the chip for one product, from the cycles of its groups: each tile works through its block of
// groups, the product ends with its slowest tile.
class TileClock {
 public:
  explicit TileClock(const TileGrid& grid)
      : grid_(grid), sums_(static_cast<std::size_t>(grid.tile_rows * grid.tile_columns), 0) {}

  // One-side: a row group costs the same in every column group, so its tile row spends it once a column
  // group.
  void add_row_group(std::int64_t row_group, std::int64_t cycles) {
    add(row_group, 0, cycles * grid_.column_groups_a_tile());
  }
  // Two-side: every pair of groups has its own cycles.
  void add_pair(std::int64_t row_group, std::int64_t column_group, std::int64_t cycles) {
    add(row_group, column_group / grid_.column_groups_a_tile(), cycles);
  }
  std::int64_t cycles() const;

 private:
  void add(std::int64_t row_group, std::int64_t tile_column, std::int64_t cycles) {
    const std::int64_t tile_row = row_group / grid_.row_groups_a_tile();
    sums_[static_cast<std::size_t>(tile_row * grid_.tile_columns + tile_column)] += cycles;
  }
  TileGrid grid_;
  std::vector<std::int64_t> sums_;
};

struct ProductCycles {
  std::int64_t cycles = 0;
  std::int64_t padding_free = 0;
};

// --- plain engine: one group at a time with Scheduler; the `ref` of tests and benchmarks ---
std::int64_t plain_product_cycles(const Config& config, const PlacedProduct& placed, bool fill_padding);

// --- fast engine: bit masks, many groups at once ---
ProductCycles fast_product_cycles(const Config& config, const PlacedProduct& placed);
// Whether the fast engine has its own code for this configuration; otherwise it is the plain one.
bool fast_engine_supports(const Config& config);

// --- functional engine: values through staging buffers and multiplexers ---
struct FunctionalCounts {
  std::int64_t cycles = 0;
  std::int64_t scheduled_macs = 0;  // products the multipliers computed
  std::int64_t effectual_macs = 0;  // of those, both factors were not zero
};
FunctionalCounts run_functional(const Config& config, const LayerShape& shape, Operation op,
                                const PlacedProduct& placed, const LayerValues& values,
                                std::vector<float>& result);

}  // namespace lacuna::tensordash
