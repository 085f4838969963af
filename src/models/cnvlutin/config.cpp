#include "models/cnvlutin/config.hpp"

#include <bit>

#include "base/chosen.hpp"

namespace lacuna::cnvlutin {

std::vector<ParamSpec> Config::params() {
  return {
      ParamSpec::choice("bricks", "lane", {"lane", "step"},
                        "what a brick of encoded values is: consecutive values of one lane, or the values of "
                        "one step, which then go to one lane together",
                        "Cnvlutin; docs/assumptions.md C1"),
      ParamSpec::integer("brick_values", 16, 2, 64, "values",
                         "values of a brick with bricks=lane; with bricks=step it has one per lane",
                         "Cnvlutin (16); docs/assumptions.md C1"),
      ParamSpec::integer("empty_brick_cycles", 0, 0, 1, "cycles",
                         "what a brick without non-zeros costs its lane", "docs/assumptions.md C2"),
      ParamSpec::integer("window_cycles", 1, 0, 1, "cycles", "the least that a window takes",
                         "docs/assumptions.md C2"),
      ParamSpec::choice("row_sync", "window", {"window", "free"},
                        "rows of a tile wait for each other at the end of each window, or only at the end of "
                        "all windows that the tile works on",
                        "docs/assumptions.md C3"),
      ParamSpec::integer("slice_steps", 0, 0, 65536, "steps",
                         "steps of a window that a lane's slice of the column buffers holds, at the end of "
                         "which lanes wait for each other too; 0: a whole window, however long",
                         "docs/assumptions.md C4"),
  };
}

Config Config::from(const Params& params, const TileShape& tile) {
  return {.tile = tile,
          .bricks = chosen<Bricks>(params, "bricks"),
          .brick_values = params.integer("brick_values"),
          .empty_brick_cycles = params.integer("empty_brick_cycles"),
          .window_cycles = params.integer("window_cycles"),
          .slice_steps = params.integer("slice_steps"),
          .rows_wait = params.text("row_sync") == "window"};
}

int Config::offset_bits() const {
  const std::int64_t values = bricks == Bricks::kLane ? brick_values : tile.lanes;
  return std::bit_width(static_cast<std::uint64_t>(values - 1));
}

}  // namespace lacuna::cnvlutin
