#include "sim/tile/tile_grid.hpp"

namespace lacuna {

TilePasses TileGrid::passes(std::int64_t tiles, std::int64_t (TileGrid::*groups_of)(std::int64_t) const,
                            std::int64_t at_once, std::int64_t multicast) const {
  TilePasses passes;
  for (std::int64_t first = 0; first < tiles; first += multicast) {
    std::int64_t most = 0;
    for (std::int64_t i = first; i < std::min(tiles, first + multicast); ++i) {
      const std::int64_t own = ceil_div((this->*groups_of)(i), at_once);
      passes.writes += own;
      most = std::max(most, own);
    }
    passes.reads += most;
  }
  return passes;
}

TileGrid choose_grid(std::int64_t row_streams, std::int64_t column_streams, const TileShape& tile) {
  TileGrid best;
  best.dealing = tile.dealing;
  best.row_groups = ceil_div(row_streams, tile.rows);
  best.column_groups = ceil_div(column_streams, tile.columns);
  std::int64_t best_cost = 0;
  for (std::int64_t tile_rows = 1; tile_rows <= tile.tiles; ++tile_rows) {
    if (tile.tiles % tile_rows != 0) continue;
    TileGrid grid = best;
    grid.tile_rows = tile_rows;
    grid.tile_columns = tile.tiles / tile_rows;
    const std::int64_t cost = grid.dense_cycles(1);
    // Later grids have more tile rows.
    const bool tie_won = tile.ties == GridTies::kRows ||
                         grid.tile_rows + grid.tile_columns <= best.tile_rows + best.tile_columns;
    if (tile_rows == 1 || cost < best_cost || (cost == best_cost && tie_won)) {
      best_cost = cost;
      best = grid;
    }
  }
  return best;
}

std::vector<PlacedProduct> place_products(const std::vector<LaneProduct>& products, Operand row_operand,
                                          const TileShape& tile) {
  std::vector<PlacedProduct> placed;
  placed.reserve(products.size());
  for (const LaneProduct& product : products) {
    const bool primary_on_rows = product.primary.role == row_operand;
    const OperandStreams* rows = primary_on_rows ? &product.primary : &product.secondary;
    const OperandStreams* columns = primary_on_rows ? &product.secondary : &product.primary;
    placed.push_back({&product, rows, columns, choose_grid(rows->count(), columns->count(), tile)});
  }
  return placed;
}

}  // namespace lacuna
