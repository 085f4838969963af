#include "sim/tile/tile_grid.hpp"

namespace lacuna {

TileGrid choose_grid(std::int64_t row_streams, std::int64_t column_streams, const TileShape& tile) {
  TileGrid best;
  best.row_groups = (row_streams + tile.rows - 1) / tile.rows;
  best.column_groups = (column_streams + tile.columns - 1) / tile.columns;
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

std::vector<PlacedProduct> place_products(const std::vector<LaneProduct>& products, TensorRole row_operand,
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

std::int64_t dense_cycles(const std::vector<PlacedProduct>& products) {
  std::int64_t cycles = 0;
  for (const PlacedProduct& placed : products) cycles += placed.grid.dense_cycles(placed.rows->steps());
  return cycles;
}

std::vector<ParamSpec> tile_params() {
  return {
      ParamSpec::integer("tiles", 16, 1, 4096, "tiles", "tiles on the chip", "TensorDash Table 2"),
      ParamSpec::integer("rows", 4, 1, 64, "PEs", "rows of processing elements in a tile",
                         "TensorDash Table 2"),
      ParamSpec::integer("columns", 4, 1, 64, "PEs", "columns of processing elements in a tile",
                         "TensorDash Table 2"),
      ParamSpec::integer("lanes", 16, 4, 64, "MACs", "multipliers of a processing element",
                         "TensorDash Table 2"),
      ParamSpec::choice(
          "schedule", "sparser", {"sparser", "primary", "A", "W", "G"},
          "operand on the rows, whose zeros are skipped: the one with more zeros, the one that the paper's "
          "text names, or a named one",
          "TensorDash §2; docs/assumptions.md A1"),
      ParamSpec::choice(
          "tile_grid", "rows", {"rows", "square"},
          "of the ways to divide a product between the tiles that take the dense machine equally long: "
          "the one with most tile rows, or the squarest, in which tiles share more of what is read",
          "docs/assumptions.md A2, A11"),
  };
}

TileShape tile_shape(const Params& params) {
  return {params.integer("rows"), params.integer("columns"), static_cast<int>(params.integer("lanes")),
          params.integer("tiles"), params.text("tile_grid") == "rows" ? GridTies::kRows : GridTies::kSquare};
}

SchedulePolicy schedule_policy(const Params& params) {
  const std::string& name = params.text("schedule");
  if (name == "primary") return SchedulePolicy::kPrimary;
  if (name == "A") return SchedulePolicy::kA;
  if (name == "W") return SchedulePolicy::kW;
  if (name == "G") return SchedulePolicy::kG;
  return SchedulePolicy::kSparser;
}

}  // namespace lacuna
