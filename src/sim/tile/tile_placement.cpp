#include "sim/tile/tile_placement.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna {
namespace {

// The zeros of A counted with its border, as the authors' early simulator does (A6).
Operand choose_with_border(const Layer& layer, Operation op, SchedulePolicy policy) {
  Layer padded = layer;
  const LayerShape& s = layer.shape;
  padded.a.mask.rows = s.n * (s.input.h + 2 * s.padding.h) * (s.input.w + 2 * s.padding.w);
  return choose_scheduled(padded, op, policy);
}

// What a row group meets of the column streams [first, end) of a tile, `any` telling which it needs.
PlacedProduct::Met met_columns(const std::vector<bool>& any, std::int64_t first, std::int64_t end,
                               const TilePlan& plan) {
  PlacedProduct::Met met;
  const std::int64_t columns = plan.tile.columns;
  for (std::int64_t group = first; group < end; group += columns) {
    const std::int64_t size = std::min(columns, end - group);
    const std::int64_t needed = std::count(any.begin() + group, any.begin() + group + size, true);
    met.columns += plan.left_out == LeftOutOutputs::kColumns ? needed : needed > 0 ? size : 0;
    met.groups += needed > 0 ? 1 : 0;
  }
  if (plan.left_out == LeftOutOutputs::kColumns) met.groups = ceil_div(met.columns, columns);
  return met;
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
  for (const PlacedProduct& product : placed)
    cycles += product.needed == nullptr ? product.grid.dense_cycles(product.rows->steps())
                                        : clock_all_steps(product);
  return cycles;
}

std::int64_t Placement::needed_macs(std::int64_t all) const {
  std::int64_t macs = 0;
  for (const PlacedProduct& product : placed) macs += product.needed->count() * product.product->reduction();
  return std::min(all, macs);
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
  leave_out_outputs(layer, op, plan, layer.a.mask, placement);
  return placement;
}

void leave_out_outputs(const Layer& layer, Operation op, const TilePlan& plan, const MaskView& a,
                       Placement& placement) {
  if (!plan.leaves_out(layer, op)) return;
  for (PlacedProduct& placed : placement.placed) {
    placed.needed = std::make_shared<NeededOutputs>(layer.shape, *placed.product, *placed.rows, a);
    placed.met.clear();
    const TileGrid& grid = placed.grid;
    const std::int64_t per_tile = grid.column_groups_per_tile() * plan.tile.columns;
    for (std::int64_t group = 0; group < grid.row_groups; ++group) {
      const std::vector<bool> any = placed.needed->any_of(group * plan.tile.rows, plan.tile.rows);
      for (std::int64_t tile = 0; tile < grid.tile_columns; ++tile) {
        const std::int64_t first = tile * per_tile;
        placed.met.push_back(met_columns(any, first, std::min(first + per_tile, std::ssize(any)), plan));
      }
    }
  }
}

TilePins TilePins::from(const Params& params) {
  const std::string& pin = params.text("pin");
  return {.multipliers = pin == "multipliers" || pin == "all", .memory = pin == "memory" || pin == "all"};
}

ParamSpec TilePins::param(const std::string& multipliers) {
  return ParamSpec::choice(
      "pin", "none", {"none", "memory", "multipliers", "all"},
      fmt::format(
          "totals kept as in Table 2, so that designs can be compared: memory: AM, BM and CM hold and "
          "deliver as many values as 16 tiles of 16 lanes; multipliers: {}; all: both",
          multipliers),
      "docs/configuration.md");
}

std::int64_t TilePins::tiles(const Params& params, const TileShape& tile) const {
  if (!multipliers) return tile.tiles;
  const std::int64_t per_tile = tile.rows * tile.columns * tile.lanes;
  if (kMultipliers % per_tile != 0) {
    throw InputError(params.owner(),
                     fmt::format("pin={}: {} multipliers do not make whole tiles of {} x {} PEs of {} lanes",
                                 params.text("pin"), kMultipliers, tile.rows, tile.columns, tile.lanes),
                     fmt::format("change rows, columns or lanes (powers of two do), or set pin=none"));
  }
  const std::int64_t tiles = kMultipliers / per_tile;
  if (!params.is_default("tiles") && tile.tiles != tiles) {
    throw InputError(
        params.owner(),
        fmt::format("pin={} makes {} tiles, but tiles={}", params.text("pin"), tiles, tile.tiles),
        "leave one of the two out");
  }
  return tiles;
}

std::int64_t TilePins::sram_banks(std::int64_t per_tile, const TileShape& tile) const {
  return memory ? ceil_div(per_tile * kTiles * kLanes, static_cast<std::int64_t>(tile.lanes))
                : per_tile * tile.tiles;
}

Params resolve_tiles(Params params) {
  const std::int64_t tiles = TilePlan::from(params).tile.tiles;
  if (tiles != params.integer("tiles")) params.set("tiles", std::to_string(tiles), params.owner());
  return params;
}

}  // namespace lacuna
