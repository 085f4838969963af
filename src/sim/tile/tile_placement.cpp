#include "sim/tile/tile_placement.hpp"

#include "sim/tile/tile_pins.hpp"

namespace lacuna {
namespace {

// The zeros of A counted with its border, as the authors' early simulator does (A6).
Operand choose_with_border(const Layer& layer, Operation op, SchedulePolicy policy) {
  Layer padded = layer;
  const LayerShape& s = layer.shape;
  padded.a.mask.rows = s.n * (s.input.h + 2 * s.padding.h) * (s.input.w + 2 * s.padding.w);
  return choose_scheduled(padded, op, policy);
}

Dealing dealing(const std::string& name) {
  return name == "blocks" ? Dealing::kBlocks : name == "turns" ? Dealing::kTurns : Dealing::kQueue;
}

}  // namespace

std::vector<ParamSpec> TilePlan::params() {
  return {
      ParamSpec::integer("tiles", 16, 1, 4096, "tiles", "tiles on the chip", "TensorDash Table 2"),
      ParamSpec::integer("rows", 4, 1, 64, "PEs", "rows of processing elements in a tile",
                         "TensorDash Table 2"),
      ParamSpec::integer("columns", 4, 1, 64, "PEs", "columns of processing elements in a tile",
                         "TensorDash Table 2"),
      ParamSpec::integer("lanes", 16, 4, 64, "MACs", "multipliers of a processing element",
                         "TensorDash Table 2"),
      ParamSpec::choice(
          "schedule", "sparser", {kSchedulePolicies.begin(), kSchedulePolicies.end()},
          "operand on the rows, whose zeros are skipped: sparser: the one with more zeros; primary: A "
          "forward, G in W*G and the sparser one in A*G, as in the paper's text; or a named one",
          "TensorDash §2; docs/assumptions.md A1"),
      ParamSpec::choice(
          "tile_grid", "square", {"rows", "square"},
          "among the ways to divide a product between the tiles that take the dense machine equally "
          "long: the one with most tile rows, or the squarest, in which tiles share more of what is "
          "read",
          "TensorDash §3.3; docs/assumptions.md A2, A11"),
      ParamSpec::choice(
          "tile_dealing", "turns", {"blocks", "turns", "queue"},
          "row groups of a product to tile rows: in contiguous blocks; in turns, group i to tile row i mod "
          "tile rows; from a queue, the next group to the tile that is free first",
          "TensorDash §1; docs/assumptions.md A2"),
      ParamSpec::choice("order", "row-major", {"row-major", "column-major"},
                        "order of windows, taps and positions; column-major also reverses the taps of W*G",
                        "docs/assumptions.md A5, A6"),
      ParamSpec::choice(
          "zeros", "recorded", {"recorded", "padded"},
          "count zeros of A as recorded or with its border, when choosing the scheduled operand",
          "docs/assumptions.md A6"),
      TilePins::param("as many tiles as make 4,096 multipliers"),
  };
}

TilePlan TilePlan::from(const Params& params) {
  TilePlan plan{
      .tile = {.rows = params.integer("rows"),
               .columns = params.integer("columns"),
               .lanes = static_cast<int>(params.integer("lanes")),
               .tiles = params.integer("tiles"),
               .ties = params.text("tile_grid") == "rows" ? GridTies::kRows : GridTies::kSquare,
               .dealing = dealing(params.text("tile_dealing"))},
      .policy = schedule_policy(params.text("schedule")),
      .order = params.text("order") == "row-major" ? VisitOrder::kRowMajor : VisitOrder::kColumnMajor,
      .count_border = params.text("zeros") == "padded"};
  plan.tile.tiles = TilePins::from(params).tiles(params, plan.tile);
  return plan;
}

std::int64_t Placement::dense_cycles() const {
  std::int64_t cycles = 0;
  for (const PlacedProduct& product : placed) cycles += product.grid.dense_cycles(product.rows->steps());
  return cycles;
}

Operand row_operand(const Layer& layer, Operation op, const TilePlan& plan) {
  return plan.count_border ? choose_with_border(layer, op, plan.policy)
                           : choose_scheduled(layer, op, plan.policy);
}

Placement place_operation(const Layer& layer, Operation op, const TilePlan& plan) {
  Placement placement;
  placement.row_operand = row_operand(layer, op, plan);
  placement.products = lane_products(layer, op, plan.tile.lanes, plan.order);
  placement.placed = place_products(placement.products, placement.row_operand, plan.tile);
  return placement;
}

}  // namespace lacuna
