// Work on a chip of tiles [TensorDash §3.3, Table 2]: what the dense machine and TensorDash share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ceil_div.hpp"
#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// Which grid to take among those on which the dense machine is equally fast.
enum class GridTies {
  kRows,    // most tile rows
  kSquare,  // nearest to a square: both operands are shared by several tiles
};

// A chip of `tiles` tiles of rows x columns processing elements of `lanes` multipliers.
struct TileShape {
  std::int64_t rows = 4;
  std::int64_t columns = 4;
  int lanes = 16;
  std::int64_t tiles = 16;
  GridTies ties = GridTies::kRows;
};

// How the tiles divide one product between them: tile (i, j) takes the i-th contiguous block of row groups
// and the j-th of column groups.
struct TileGrid {
  std::int64_t row_groups = 0;     // of the product: ceil(streams on rows / tile rows)
  std::int64_t column_groups = 0;  // likewise
  std::int64_t tile_rows = 1;      // tile_rows * tile_columns = tiles
  std::int64_t tile_columns = 1;

  std::int64_t row_groups_per_tile() const { return ceil_div(row_groups, tile_rows); }
  std::int64_t column_groups_per_tile() const { return ceil_div(column_groups, tile_columns); }
  std::int64_t dense_cycles(std::int64_t steps) const {
    return steps * row_groups_per_tile() * column_groups_per_tile();
  }
};

// ASSUMPTION(A2): the grid that minimises the dense machine's cycles, ties to more tile rows (or as `ties`
// says); both machines use it.
TileGrid choose_grid(std::int64_t row_streams, std::int64_t column_streams, const TileShape& tile);

// ASSUMPTION(A3): products of one operation (convolution groups, phases of a strided input gradient) run one
// after another, each on all tiles. One product with its operands placed: `rows` is the operand that is (or
// would be) scheduled.
struct PlacedProduct {
  const LaneProduct* product;
  const OperandStreams* rows;
  const OperandStreams* columns;
  TileGrid grid;
};
std::vector<PlacedProduct> place_products(const std::vector<LaneProduct>& products, Operand row_operand,
                                          const TileShape& tile);

}  // namespace lacuna
