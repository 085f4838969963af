#include "sim/tile/tile_pins.hpp"

#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "sim/tile/tile_placement.hpp"

namespace lacuna {

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
