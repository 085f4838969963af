// Work on a chip of tiles [TensorDash §3.3, Table 2]: what the dense machine and TensorDash share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ceil_div.hpp"
#include "sim/workload/needed_outputs.hpp"
#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// Choice among grids on which the dense machine is equally fast.
enum class GridTies {
  kRows,    // most tile rows
  kSquare,  // nearest to a square: both operands are shared by several tiles
};

// Assignment of row groups to tile rows; column groups always go to tile columns in contiguous blocks.
enum class Dealing {
  kBlocks,  // contiguous blocks
  kTurns,   // one after another: group i to tile row i mod tile rows
  kQueue,   // in each tile column, the tile that is done first takes the next one
};

constexpr std::string_view dealing_name(Dealing dealing) {
  return dealing == Dealing::kBlocks ? "blocks" : dealing == Dealing::kTurns ? "turns" : "queue";
}

// A chip of `tiles` tiles of rows x columns processing elements of `lanes` multipliers.
struct TileShape {
  std::int64_t rows = 4;
  std::int64_t columns = 4;
  int lanes = 16;
  std::int64_t tiles = 16;
  GridTies ties = GridTies::kRows;
  Dealing dealing = Dealing::kBlocks;
};

// Number of times that the streams of one operand are handed out because the tiles work on different groups
// of the other.
struct TilePasses {
  std::int64_t reads = 0;   // from memory: one feeds up to `multicast` neighbouring tiles
  std::int64_t writes = 0;  // into buffers: one per tile
};

// Division of one product between the tiles: tile (i, j) takes the j-th contiguous block of column groups
// against the row groups that are dealt to tile row i.
struct TileGrid {
  std::int64_t row_groups = 0;     // of the product: ceil(streams on rows / tile rows)
  std::int64_t column_groups = 0;  // likewise
  std::int64_t tile_rows = 1;      // tile_rows * tile_columns = tiles
  std::int64_t tile_columns = 1;
  Dealing dealing = Dealing::kBlocks;

  std::int64_t row_groups_per_tile() const { return ceil_div(row_groups, tile_rows); }
  std::int64_t column_groups_per_tile() const { return ceil_div(column_groups, tile_columns); }
  // Groups of one tile row or tile column. A queue whose groups all take as long deals them in turns.
  std::int64_t row_groups_of(std::int64_t tile_row) const {
    return dealing == Dealing::kBlocks ? block(row_groups, row_groups_per_tile(), tile_row)
                                       : ceil_div(row_groups - tile_row, tile_rows);
  }
  std::int64_t column_groups_of(std::int64_t tile_column) const {
    return block(column_groups, column_groups_per_tile(), tile_column);
  }
  // Tile row of a group that does not wait in a queue.
  std::int64_t tile_row_of(std::int64_t row_group) const {
    return dealing == Dealing::kBlocks ? row_group / row_groups_per_tile() : row_group % tile_rows;
  }
  std::int64_t tile_column_of(std::int64_t column_group) const {
    return column_group / column_groups_per_tile();
  }
  // Passes over the row groups, and over the column groups, of tiles that take in `at_once` at a time.
  TilePasses row_passes(std::int64_t at_once, std::int64_t multicast) const {
    return passes(tile_rows, &TileGrid::row_groups_of, at_once, multicast);
  }
  TilePasses column_passes(std::int64_t at_once, std::int64_t multicast) const {
    return passes(tile_columns, &TileGrid::column_groups_of, at_once, multicast);
  }
  // The same for every dealing.
  std::int64_t dense_cycles(std::int64_t steps) const {
    return steps * row_groups_per_tile() * column_groups_per_tile();
  }

 private:
  TilePasses passes(std::int64_t tiles, std::int64_t (TileGrid::*groups_of)(std::int64_t) const,
                    std::int64_t at_once, std::int64_t multicast) const;
  static std::int64_t block(std::int64_t groups, std::int64_t per_tile, std::int64_t i) {
    return std::clamp<std::int64_t>(groups - i * per_tile, 0, per_tile);
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
  // With outputs=needed: the outputs, and what each row group meets in each tile column, [row group][tile
  // column]. Empty: all of them.
  struct Met {
    std::int64_t groups = 0;   // of columns
    std::int64_t columns = 0;  // in these groups
  };
  std::shared_ptr<const NeededOutputs> needed = nullptr;
  std::vector<Met> met = {};
};
std::vector<PlacedProduct> place_products(const std::vector<LaneProduct>& products, Operand row_operand,
                                          const TileShape& tile);

}  // namespace lacuna
