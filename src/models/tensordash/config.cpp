#include "models/tensordash/config.hpp"

#include <fmt/format.h>

#include "base/chosen.hpp"
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
      ParamSpec::choice(
          "storage", "dense", {"dense", "scheduled", "blocks"},
          "how memory holds tensors: as values; as (value, idx) pairs that PEs run from where their "
          "order allows it; or as such pairs in groups of 16 x 16, expanded before use",
          "TensorDash §3.6; docs/models/tensordash-storage.md"),
      ParamSpec::choice(
          "stored", "all", {"all", "weights", "activations"},
          "tensors that storage=scheduled and storage=blocks keep in scheduled form: all, weights "
          "alone, or activations and gradients",
          "TensorDash §3.6.1"),
      ParamSpec::integer("backside_schedulers", 1, 1, 1024, "per tile",
                         "schedulers behind the PEs, which put activations and gradients into scheduled form",
                         "TensorDash §3.7; docs/assumptions.md A27"),
      ParamSpec::integer(
          "backside_cycles", 0, 0, 64, "cycles",
          "time a backside scheduler takes per block of outputs; 0: one cycle per level, 6 in the "
          "paper",
          "TensorDash §3.7; docs/assumptions.md A28"),
      outputs_param(
          "the columns that no row of a group needs are left out of its order of work, the others move "
          "together; one-side scheduling, storage=dense or blocks"),
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
  config.sync = chosen<RowSync>(params, "sync");
  config.sides = chosen<Sides>(params, "sides");
  config.storage = chosen<Storage>(params, "storage");
  config.stored = chosen<StoredTensors>(params, "stored");
  config.backside_schedulers = params.integer("backside_schedulers");
  config.backside_cycles = params.integer("backside_cycles");
  config.power_gating = params.flag("power_gating");
  config.gating_threshold = params.number("gating_threshold");
  if (config.sync == RowSync::kLines && (tile.tiles != 1 || config.sides != Sides::kOne)) {
    throw InputError(params.owner(), "sync=lines models one tile with one-side scheduling",
                     "set tiles=1 and sides=one, or another sync");
  }
  if (config.sync == RowSync::kLines && config.storage == Storage::kScheduled) {
    throw InputError(params.owner(), "sync=lines has no schedule that could be stored",
                     "set sync=lockstep or storage=dense");
  }
  if (needed_outputs_only(params) && (config.sync == RowSync::kLines || config.sides == Sides::kBoth ||
                                      config.storage == Storage::kScheduled)) {
    throw InputError(params.owner(), "outputs=needed is modelled for rows of PEs with one scheduler each",
                     "set sides=one, sync=lockstep or decoupled, storage=dense or blocks");
  }
  return config;
}

bool Config::is_stored(const LayerShape& shape, Operand role) const {
  if (storage == Storage::kDense) return false;
  return stored == StoredTensors::kAll || (stored == StoredTensors::kWeights) == shape.once_per_batch(role);
}

bool Config::runs_from_stored(const LayerShape& shape, Operation op, Operand row_operand) const {
  // Both operands' zeros are skipped only after expanding both [TensorDash §3.6.1].
  if (storage != Storage::kScheduled || sides == Sides::kBoth || !is_stored(shape, row_operand)) return false;
  // Filters are scheduled together, beforehand; the right factor of a matmul is not known then.
  if (row_operand == Operand::kW && !shape.once_per_batch(row_operand)) return false;
  // The order that is stored is that of A*W; G takes it in W*G. W in W*G and both operands of A*G are used
  // in another order [TensorDash §3.6.3].
  return op == Operation::kForward || (op == Operation::kInputGrad && row_operand == Operand::kG);
}

}  // namespace lacuna::tensordash
