#include "models/sparten/config.hpp"

#include <fmt/format.h>
#include <numeric>

#include "base/chosen.hpp"
#include "base/error.hpp"
#include "sim/memory/dram.hpp"
#include "sim/tile/tile_placement.hpp"
#include "sim/workload/needed_outputs.hpp"

namespace lacuna::sparten {

std::vector<ParamSpec> shared_params() {
  std::vector<ParamSpec> specs = dram_params(
      "ideal: cycles of the compute units alone; modelled: an operation takes as long as the "
      "slowest of DRAM, SRAM and the units",
      "docs/assumptions.md P9");
  specs.push_back(ParamSpec::integer(
      "sram_banks", 4, 1, 64, "banks",
      "banks of each of AM, BM and CM per 256 units (a tile of the dense machine); one row per cycle each",
      "TensorDash Table 2; docs/assumptions.md P9"));
  specs.push_back(TilePins::param("units must be 4,096"));
  return specs;
}

std::vector<ParamSpec> config_params() {
  std::vector<ParamSpec> specs{
      ParamSpec::integer("units", 4096, 256, 1 << 20, "units",
                         "compute units of the chip, one multiplier each. Speedups refer to a dense "
                         "inner-product machine with as many multipliers (tiles of 256)",
                         "docs/assumptions.md P1"),
      ParamSpec::integer("cluster_units", 32, 1, 4096, "units",
                         "compute units of a cluster, which share the broadcast chunk",
                         "docs/assumptions.md P1"),
      ParamSpec::integer("chunk", 128, 8, 1024, "elements",
                         "elements of a chunk: bits of a mask that a unit joins at once",
                         "SparTen, MICRO 2019: chunks of 128"),
      ParamSpec::choice(
          "balancing", "filters", {"none", "unsorted", "filters", "chunks"},
          "held streams on a unit between barriers. none: one; unsorted: two neighbours; filters: "
          "two, the densest with the sparsest (GB-S); chunks: as filters, and paired again at "
          "each chunk (GB-H)",
          "SparTen, MICRO 2019: greedy balancing; docs/assumptions.md P4"),
      ParamSpec::choice(
          "pair_scope", "layer", {"layer", "group"},
          "the densest stream is paired with the sparsest of the whole layer, or of the streams "
          "of like density that run on a cluster together",
          "docs/assumptions.md P4"),
      ParamSpec::choice("empty_join", "cycle", {"cycle", "broadcast", "free"},
                        "a join without a match takes one cycle; the same, but a broadcast chunk without "
                        "non-zeros is left out; or nothing",
                        "docs/assumptions.md P3"),
      ParamSpec::choice(
          "chunk_packing", "aligned", {"aligned", "packed"},
          "aligned: a chunk never spans two taps (weight gradient: two samples), as tensors are "
          "stored; packed: the reduction is one vector",
          "docs/assumptions.md P2"),
      ParamSpec::choice("weight_grad_held", "G", {"G", "A"},
                        "the operand that units hold in the weight gradient; the other is broadcast",
                        "docs/assumptions.md P5"),
      ParamSpec::choice("dealing", "blocks", {"blocks", "turns"},
                        "broadcast streams of a cluster: neighbours, or one after another",
                        "docs/assumptions.md P6"),
      outputs_param("a unit joins no chunks for the others"),
      ParamSpec::integer(
          "held_reuse", 32, 1, 4096, "chunks",
          "broadcast chunks that pass while a unit keeps its held chunks: as many partial sums "
          "are kept per held stream. Traffic and energy only",
          "docs/assumptions.md P7"),
      ParamSpec::integer("multicast", 4, 1, 4096, "clusters", "clusters that one read of AM or BM can feed",
                         "docs/assumptions.md P7; as A11 of the tiles"),
      ParamSpec::choice("idle_logic", "clocked", {"clocked", "gated"},
                        "energy of multipliers and joins: clocked: their power for every cycle, as for the "
                        "machines of tiles; gated: for the cycles in which they work",
                        "docs/assumptions.md P8"),
  };
  for (ParamSpec& spec : shared_params()) specs.push_back(std::move(spec));
  return specs;
}

Config make_config(const Params& params) {
  Config config;
  config.units = params.integer("units");
  config.cluster_units = params.integer("cluster_units");
  config.chunk = params.integer("chunk");
  config.balancing = chosen<Balancing>(params, "balancing");
  config.pair_scope = chosen<PairScope>(params, "pair_scope");
  config.empty_join = chosen<EmptyJoin>(params, "empty_join");
  config.packing = chosen<ChunkPacking>(params, "chunk_packing");
  config.weight_grad_held = params.text("weight_grad_held") == "G" ? Operand::kG : Operand::kA;
  config.dealing = chosen<Dealing>(params, "dealing");
  config.held_reuse = params.integer("held_reuse");
  config.multicast = params.integer("multicast");
  const TilePins pins = TilePins::from(params);
  if (pins.multipliers && config.units != TilePins::kMultipliers) {
    throw InputError(params.owner(),
                     fmt::format("pin={} keeps {} multipliers, but units={}", params.text("pin"),
                                 TilePins::kMultipliers, config.units),
                     "leave one of the two out");
  }
  // As the tiles of the dense machine with as many multipliers have them.
  config.sram_banks =
      pins.sram_banks(params.integer("sram_banks"), TileShape{.tiles = config.units / kDenseTileMultipliers});
  config.needed = needed_outputs_only(params);
  config.gated = params.text("idle_logic") == "gated";
  config.data_type = arithmetic(params);
  config.frequency_mhz = params.number("frequency_mhz");
  const std::int64_t whole = std::lcm(kDenseTileMultipliers, config.cluster_units);
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): cluster_units is at least 1, by its declaration
  if (config.units % whole != 0) {
    throw InputError(params.owner(),
                     fmt::format("units={} does not make whole clusters of {} and whole dense tiles of {}",
                                 config.units, config.cluster_units, kDenseTileMultipliers),
                     fmt::format("use a multiple of {}", whole));
  }
  return config;
}

}  // namespace lacuna::sparten
