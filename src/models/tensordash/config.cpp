#include "models/tensordash/config.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/tile/tile_chip.hpp"

namespace lacuna::tensordash {

namespace {

std::vector<ParamSpec> own_params() {
  return {
      ParamSpec::integer("depth", 3, 1, kMaxDepth, "steps",
                         "rows of a staging buffer: the current step and the lookahead",
                         "TensorDash Table 2, Fig. 19"),
      ParamSpec::text(
          "connectivity", "paper",
          "movements of a multiplexer in priority order: paper, tensordash-2019, lookahead, crossbar, "
          "or a list of [step, lane offset] pairs",
          "TensorDash §3.2, Fig. 9"),
      ParamSpec::choice(
          "sync", "lockstep", {"lockstep", "decoupled", "lines"},
          "rows of a tile slide together, each by itself up to the end of an output, or line by "
          "line as in the authors' early simulator",
          "TensorDash §3.3; docs/assumptions.md A4, A6"),
      ParamSpec::choice("sides", "one", {"one", "both"},
                        "skip zeros of the scheduled operand (one scheduler per row), or pairs with any zero "
                        "(one scheduler per PE)",
                        "TensorDash §3.1, §3.3"),
      ParamSpec::choice("storage", "dense", {"dense", "scheduled"},
                        "how memory holds tensors: as values, or as (value, idx) pairs in groups of 16 x 16",
                        "TensorDash §3.6; docs/models/tensordash-storage.md"),
      ParamSpec::flag("power_gating", false,
                      "bypass the staging buffers and run densely where the scheduled tensor has few zeros",
                      "TensorDash §3.5"),
      ParamSpec::number("gating_threshold", 0.05, 0, 1, "",
                        "share of zeros below which an operation is gated",
                        "TensorDash §3.5; docs/assumptions.md A7"),
  };
}

}  // namespace

std::vector<ParamSpec> Config::params() { return TileChip::params(own_params()); }

Config Config::from(const Params& params) {
  const TileShape tile = TilePlan::from(params).tile;
  const int depth = static_cast<int>(params.integer("depth"));
  Config config{.tile = tile,
                .scheduler = Scheduler(
                    Connectivity::parse(params.text("connectivity"), tile.lanes, depth, params.owner()))};
  const std::string& sync = params.text("sync");
  config.sync = sync == "lockstep"    ? RowSync::kLockstep
                : sync == "decoupled" ? RowSync::kDecoupled
                                      : RowSync::kLines;
  config.sides = params.text("sides") == "one" ? Sides::kOne : Sides::kBoth;
  config.scheduled_storage = params.text("storage") == "scheduled";
  config.power_gating = params.flag("power_gating");
  config.gating_threshold = params.number("gating_threshold");
  if (config.sync == RowSync::kLines && (tile.tiles != 1 || config.sides != Sides::kOne)) {
    throw InputError(params.owner(), "sync=lines models one tile with one-side scheduling",
                     "set tiles=1 and sides=one, or another sync");
  }
  return config;
}

}  // namespace lacuna::tensordash
