#include "sim/outer_product/machine_config.hpp"

#include <fmt/format.h>
#include <numeric>

#include "base/chosen.hpp"
#include "base/error.hpp"
#include "sim/memory/dram.hpp"
#include "sim/workload/needed_outputs.hpp"

namespace lacuna::outer_product {
Size2 MachineConfig::pe_grid() const {
  Size2 grid{1, pes()};
  for (std::int64_t rows = 1; rows * rows <= pes(); ++rows) {
    if (pes() % rows == 0) grid = {rows, pes() / rows};
  }
  return grid;
}

std::vector<ParamSpec> machine_params(std::int64_t fill_default) {
  std::vector<ParamSpec> specs{
      ParamSpec::integer("multipliers", 1024, 256, 1 << 20, "multipliers",
                         "multipliers of the chip: PEs = multipliers / n^2. Speedups refer to a dense "
                         "inner-product machine with the same number (tiles of 256)",
                         "SCNN, design parameters: 64 PEs x 16"),
      ParamSpec::integer("n", 4, 1, 16, "elements", "image and kernel elements that enter a PE in one step",
                         "SCNN, design parameters: F = I = 4"),
      ParamSpec::integer("fill", fill_default, 0, 1000, "cycles",
                         "cycles to fill the pipe: its stages less one",
                         "ANT talk (FastPath 2022): 3 stages, with ANT 6; docs/assumptions.md O2"),
      ParamSpec::choice(
          "fill_scope", "operation", {"operation", "pair"},
          "when the fill is paid: once per operation (pairs follow each other without a gap), or "
          "for each pair",
          "docs/assumptions.md O2"),
      ParamSpec::choice(
          "mapping", "pairs", {"pairs", "scnn-tiles"},
          "pairs: (image, kernel) pair i on PE i mod PEs, one barrier per operation; scnn-tiles: "
          "planes tiled over the PEs, kernels broadcast, a barrier at each output-channel group",
          "docs/assumptions.md O1, O7; SCNN §3"),
      ParamSpec::choice("linear", "matrix", {"matrix", "channels"},
                        "linear layers: whole matrices meet, or one reduction index at a time",
                        "ANT abstract; docs/assumptions.md O5"),
      ParamSpec::flag("conflicts", false, "charge conflicts of useful products at the accumulator banks",
                      "SCNN §4; docs/assumptions.md O6"),
      ParamSpec::integer("banks", 32, 1, 4096, "banks", "accumulator banks of a PE",
                         "SCNN, design parameters"),
      ParamSpec::integer("bank_entries", 32, 1, 1 << 20, "entries", "accumulators of a bank",
                         "SCNN, design parameters"),
      ParamSpec::integer("group_channels", 0, 0, 1 << 20, "channels",
                         "scnn-tiles: output channels between barriers (Kc); 0: as many as the accumulators "
                         "of a PE hold",
                         "SCNN §3; docs/assumptions.md O7"),
      ParamSpec::choice(
          "pe_memory", "unlimited", {"unlimited", "sized"},
          "sized (scnn-tiles only): the RAMs of a PE hold what they hold. Kernels that the FIFO "
          "does not hold are broadcast again; a tile beyond the IARAM is worked on in parts; "
          "activations that fit stay from layer to layer",
          "SCNN, design parameters; docs/assumptions.md O13"),
      ParamSpec::integer("iaram_values", 4096, 1, 1 << 30, "values",
                         "non-zeros that a PE's input RAM holds, with their indices (pe_memory=sized)",
                         "SCNN, design parameters: 10 KB of 16-bit values with 4-bit indices"),
      ParamSpec::integer("oaram_values", 4096, 1, 1 << 30, "values",
                         "the same of its output RAM (pe_memory=sized)",
                         "SCNN, design parameters: 10 KB of 16-bit values with 4-bit indices"),
      ParamSpec::integer(
          "fifo_entries", 50, 1, 1 << 30, "entries",
          "weight FIFO of a PE, in vectors of n elements (pe_memory=sized); ANT has a memory of "
          "unknown size in its place",
          "SCNN, design parameters: 50 entries, 0.5 KB"),
      ParamSpec::choice(
          "drains", "hidden", {"hidden", "charged"},
          "emptying the accumulators and exchanging halos (scnn-tiles only): hidden, or charged "
          "where it takes longer than the next group of output channels",
          "SCNN §4; docs/assumptions.md O14"),
      ParamSpec::integer("drain_values", 0, 0, 4096, "values",
                         "sums that leave or enter a PE's accumulators in a cycle (drains=charged); 0: n",
                         "docs/assumptions.md O14"),
      outputs_param(
          "products that fall on the others are redundant too, and kernels whose whole plane of outputs "
          "nobody needs are left out"),
      ParamSpec::choice("idle_logic", "clocked", {"clocked", "gated"},
                        "energy of the PEs' logic: clocked: its power for every cycle, as for the machines "
                        "of tiles; gated: for the products, ranges and indices it works on",
                        "docs/assumptions.md O8"),
  };
  for (ParamSpec& spec : dram_params("ideal: cycles of the PEs alone; modelled: an operation takes as long "
                                     "as the slower of DRAM and the PEs",
                                     "docs/assumptions.md O9")) {
    specs.push_back(std::move(spec));
  }
  return specs;
}

ParamSpec kernel_vectors_param() {
  return ParamSpec::choice(
      "kernel_vectors", "kernel", {"kernel", "group"},
      "what a vector of n kernel elements is filled from: one kernel, or (scnn-tiles only) all kernels of a "
      "channel in a group of output channels, packed one after another",
      "SCNN §3: weights are fetched from the compressed Kc x R x S of a channel; docs/assumptions.md O16");
}

MachineConfig machine_config(const Params& params) {
  MachineConfig config;
  config.multipliers = params.integer("multipliers");
  config.n = params.integer("n");
  config.fill = params.integer("fill");
  config.fill_each_pair = params.text("fill_scope") == "pair";
  config.mapping = chosen<Mapping>(params, "mapping");
  config.linear = chosen<LinearMapping>(params, "linear");
  config.packs_kernels = params.has("kernel_vectors") && params.text("kernel_vectors") == "group";
  config.conflicts = params.flag("conflicts");
  config.banks = params.integer("banks");
  config.bank_entries = params.integer("bank_entries");
  config.group_channels = params.integer("group_channels");
  config.sized = params.text("pe_memory") == "sized";
  config.iaram_values = params.integer("iaram_values");
  config.oaram_values = params.integer("oaram_values");
  config.fifo_entries = params.integer("fifo_entries");
  config.charge_drains = params.text("drains") == "charged";
  config.drain_values = params.integer("drain_values") > 0 ? params.integer("drain_values") : config.n;
  config.needed = needed_outputs_only(params);
  config.gated = params.text("idle_logic") == "gated";
  config.data_type = arithmetic(params);
  config.frequency_mhz = params.number("frequency_mhz");
  if (config.mapping == Mapping::kPairs && (config.sized || config.charge_drains || config.packs_kernels)) {
    throw InputError(
        params.owner(),
        fmt::format(
            "{} needs mapping=scnn-tiles: sizes and output-channel groups are those of SCNN's own tiles",
            config.sized           ? "pe_memory=sized"
            : config.charge_drains ? "drains=charged"
                                   : "kernel_vectors=group"),
        "add mapping=scnn-tiles, or take scnn-tiles in place of scnn");
  }
  if (config.needed && config.conflicts) {
    throw InputError(params.owner(), "outputs=needed has no conflicts of accumulator banks",
                     "set conflicts=off or outputs=all");
  }
  const std::int64_t unit = std::lcm(kDenseTileMultipliers, config.n * config.n);
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): n is at least 1, by its declaration
  if (config.multipliers % unit != 0) {
    throw InputError(
        params.owner(),
        fmt::format("multipliers={} does not make whole PEs of {} x {} and whole dense tiles of {}",
                    config.multipliers, config.n, config.n, kDenseTileMultipliers),
        fmt::format("use a multiple of {}", unit));
  }
  return config;
}

}  // namespace lacuna::outer_product
