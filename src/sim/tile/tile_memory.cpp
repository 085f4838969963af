#include "sim/tile/tile_memory.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "sim/memory/memory_actions.hpp"
#include "sim/tile/tile_placement.hpp"

namespace lacuna {
namespace {

// Reference sizes of the cost tables: rows of 16 values, and the 8 scratchpads of 3 banks of 16 rows that a
// tile of Table 2 has.
constexpr std::int64_t kCostLanes = kSramRowValues;
constexpr double kScratchpadsPerUnit = 8, kPublishedScratchpadRows = 3 * 16;

}  // namespace

std::vector<ParamSpec> memory_params() {
  std::vector<ParamSpec> specs = dram_params(
      "ideal: cycles of the tiles alone; modelled: an operation takes as long as the slowest of "
      "DRAM, transposers, SRAM, scratchpads and tiles",
      "TensorDash §4 (Micron's model gives DRAM's latency); docs/assumptions.md A12");
  const std::vector<ParamSpec> on_chip{
      ParamSpec::integer("sram_banks", 4, 1, 64, "banks",
                         "banks of each of AM, BM and CM per tile (unless pin keeps their total); one row of "
                         "`lanes` values per cycle each",
                         "TensorDash Table 2"),
      ParamSpec::integer("multicast", 4, 1, 4096, "tiles", "tiles that one read of AM or BM can feed",
                         "docs/assumptions.md A11"),
      ParamSpec::integer("scratchpad_banks", 3, 1, 16, "banks",
                         "banks of a scratchpad; one row per cycle each", "TensorDash Table 2"),
      ParamSpec::integer("scratchpad_rows", 16, 1, 4096, "rows",
                         "rows of `lanes` values in a scratchpad bank (1 KB: 16 rows of 16 FP32 values)",
                         "TensorDash Table 2"),
      ParamSpec::integer(
          "chunk_steps", 3, 1, 64, "steps",
          "steps of a stream that a scratchpad holds; after that many a partial sum is put aside",
          "docs/assumptions.md A11"),
      ParamSpec::integer("transposers", 15, 1, 4096, "transposers",
                         "transposers between SRAM and scratchpads, of 16 lanes; with other lanes as many as "
                         "pass the same values per cycle",
                         "TensorDash Table 2; docs/assumptions.md A13"),
      ParamSpec::integer(
          "transposer_cycles", 16, 1, 4096, "cycles",
          "a transposer's time for a group of 16 x 16 values, filling one while it empties another; for "
          "lanes x lanes values it takes lanes/16 times as long",
          "TensorDash §3.4; docs/assumptions.md A13"),
      ParamSpec::choice(
          "transposed", "text", {"text", "all"},
          "operands that come through transposers: text: weights in W*G and gradients in A*G, as the paper "
          "names them; all: activations in A*G as well, whose lanes run across their blocks, too",
          "TensorDash §3.4; docs/assumptions.md A13"),
  };
  specs.insert(specs.end(), on_chip.begin(), on_chip.end());
  for (ParamSpec& spec : SizedMemory::params()) specs.push_back(std::move(spec));
  return specs;
}

TileMemory::TileMemory(const Params& params, const TileShape& tile)
    : tile_(tile),
      dram_(params),
      sram_banks_(TilePins::from(params).sram_banks(params.integer("sram_banks"), tile)),
      sized_(params, sram_banks_ * kSramBankRows * tile.lanes * dram_.value_bytes(), tile.tiles),
      multicast_(params.integer("multicast")),
      scratchpad_banks_(params.integer("scratchpad_banks")),
      scratchpad_rows_(params.integer("scratchpad_rows")),
      chunk_steps_(params.integer("chunk_steps")),
      // ASSUMPTION(A11): half of a scratchpad is filled while the other half is used; with Table 2's that is
      // 8 streams per line of PEs, 32 per tile.
      streams_per_line_(scratchpad_banks_ * scratchpad_rows_ / (2 * chunk_steps_)),
      transposers_(params.integer("transposers")),
      transposer_cycles_(params.integer("transposer_cycles")),
      transpose_a_(params.text("transposed") == "all") {
  if (streams_per_line_ < 1) {
    throw InputError(params.owner(), "half a scratchpad does not hold chunk_steps rows of one stream",
                     "lower chunk_steps, or raise scratchpad_rows or scratchpad_banks");
  }
}

double TileMemory::sram_units() const { return static_cast<double>(sram_banks_ * tile_.lanes) / kCostLanes; }

double TileMemory::sram_capacity_units() const {
  return sram_units() * (sized_.am_scale() + sized_.bm_scale() + sized_.cm_scale());
}

double TileMemory::scratchpad_units(std::int64_t lines) const {
  const double size = static_cast<double>(scratchpad_banks_ * scratchpad_rows_ * tile_.lanes) /
                      (kPublishedScratchpadRows * kCostLanes);
  return static_cast<double>(tile_.tiles * lines) / kScratchpadsPerUnit * size;
}

double TileMemory::transposer_units() const {
  // Fewer of them, each with (lanes/16)^2 times the values.
  return static_cast<double>(transposers_ * tile_.lanes) / kCostLanes;
}

std::vector<DesignTotal> TileMemory::totals() const {
  const auto lanes = static_cast<double>(tile_.lanes);
  const auto scratchpad_rows =
      static_cast<double>(tile_.tiles * (tile_.rows + tile_.columns) * scratchpad_banks_);
  const double transposed =
      static_cast<double>(transposers_ * kCostLanes * kCostLanes) / static_cast<double>(transposer_cycles_);
  std::vector<DesignTotal> totals = sram_totals(3 * sram_units());
  totals[0].value *= (sized_.am_scale() + sized_.bm_scale() + sized_.cm_scale()) / 3;
  totals.insert(
      totals.end(),
      {{"scratchpad_values", "", scratchpad_rows * static_cast<double>(scratchpad_rows_) * lanes},
       {"scratchpad_values_per_cycle", "", scratchpad_rows * lanes},
       {"transposer_values_per_cycle", "transposer bandwidth", transposed},
       {"transposer_group_cycles", "", static_cast<double>(transposer_cycles_) * lanes / kCostLanes},
       dram_.bandwidth()});
  return totals;
}

// ASSUMPTION(A12): with double buffering everywhere an operation takes as long as its slowest stage, plus,
// once per batch, the first block's way in and the last one's way out.
std::int64_t TileMemory::pipeline(const Activity& activity, std::int64_t output_cycles, double batch_scale,
                                  Bound& bound) const {
  bound = output_cycles > activity.compute_cycles ? Bound::kBackside : Bound::kCompute;
  std::int64_t cycles = std::max(activity.compute_cycles, output_cycles);
  if (!dram_.modelled()) return cycles;
  const std::pair<Bound, std::int64_t> stages[] = {{Bound::kDram, activity.dram_cycles},
                                                   {Bound::kTransposers, activity.transposer_cycles},
                                                   {Bound::kSram, activity.sram_cycles},
                                                   {Bound::kScratchpads, activity.scratchpad_cycles}};
  for (const auto& [stage, needed] : stages) {
    if (needed <= cycles) continue;
    cycles = needed;
    bound = stage;
  }
  return cycles + ceil_cycles(static_cast<double>(activity.fill_cycles) / batch_scale);
}

std::string TileMemory::transposed(Operation op) const {
  const auto [primary, secondary] = operands(op);
  std::string names;
  for (const Operand role : {primary, secondary}) {
    if (!is_transposed(role, op)) continue;
    if (!names.empty()) names += ',';
    names += operand_name(role);
  }
  return names.empty() ? "none" : names;
}

TileTiming TileMemory::time(const OperationWork& work, const Placement& placement,
                            std::int64_t compute_cycles, const TileTimeInputs& inputs) const {
  TileTiming timing;
  count(work, placement, compute_cycles, inputs, timing);
  timing.cycles = pipeline(timing.activity, inputs.output_cycles, work.batch_scale, timing.activity.bound);
  return timing;
}

}  // namespace lacuna
