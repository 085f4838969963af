#include "sim/tile/tile_chip.hpp"

#include <fmt/format.h>
#include <iterator>

#include "sim/memory/memory_actions.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna {
namespace {

// By the values of `zero_operands`; gated-baseline is handed to the baseline as gated.
std::string zero_action(const std::string& zero_operands) {
  return zero_operands == "switching" ? "zero_cycle" : zero_operands == "gated" ? "gated_cycle" : "cycle";
}

// Bits of the tags over those of the values.
double share_of_row(const ValueTags& tags, const TileChip& chip) {
  return tags.bits / bits_of(chip.data_type());
}

}  // namespace

ParamSpec zero_operands_param() {
  return ParamSpec::choice(
      "zero_operands", "clocked", {"clocked", "switching", "gated", "gated-baseline"},
      "energy of a multiplier in a cycle without two non-zero operands: clocked: as any other's; switching: "
      "less, since less of it switches; gated: its clock is off; gated-baseline: that of the baseline alone "
      "is",
      "TensorDash §3 (Fig. 7a), Table 3; docs/assumptions.md A16");
}

TileChip::TileChip(const Params& params, LeftOutOutputs left_out)
    : plan_(TilePlan::from(params)),
      zero_action_(zero_action(params.text("zero_operands"))),
      data_type_(arithmetic(params)),
      memory_(params, plan_.tile) {
  if (needed_outputs_only(params)) plan_.left_out = left_out;
}

std::vector<ParamSpec> TileChip::params(std::vector<ParamSpec> own) {
  std::vector<ParamSpec> specs = TilePlan::params();
  for (ParamSpec& spec : own) specs.push_back(std::move(spec));
  specs.push_back(zero_operands_param());
  for (ParamSpec& spec : memory_params()) specs.push_back(std::move(spec));
  return specs;
}

double TileChip::multipliers() const {
  return static_cast<double>(tile().tiles * tile().rows * tile().columns * tile().lanes);
}

Hardware TileChip::hardware(std::vector<Component> added_logic) const {
  Hardware hardware{.description = fmt::format("{} tiles of {} x {} PEs of {} MACs", tile().tiles,
                                               tile().rows, tile().columns, tile().lanes),
                    .data_type = std::string(data_type_name(data_type_)),
                    .frequency_mhz = memory_.dram().frequency_mhz(),
                    .components = {{"cores",
                                    "compute cores",
                                    ComponentGroup::kCore,
                                    {{"mac", multipliers(), {"cycle", "zero_cycle", "gated_cycle"}}}},
                                   {"transposers",
                                    "transposers",
                                    ComponentGroup::kCore,
                                    {{"transposer", memory_.transposer_units(), {"cycle"}}}}}};
  std::vector<Component>& components = hardware.components;
  components.insert(components.end(), std::make_move_iterator(added_logic.begin()),
                    std::make_move_iterator(added_logic.end()));
  components.push_back(
      {"scratchpads",
       "scratchpads",
       ComponentGroup::kSram,
       {{"scratchpad", memory_.scratchpad_units(tile().rows + tile().columns), {"read", "write"}},
        {"partial_sum", 0, {"read", "write"}}}});
  components.push_back(sram_component(memory_.sram_capacity_units()));
  add_dram(hardware, memory_.dram());
  const std::int64_t pes = tile().tiles * tile().rows * tile().columns;
  hardware.totals = {{"multipliers", "multipliers", multipliers()},
                     {"accumulators", "", static_cast<double>(pes)}};  // one per PE
  for (DesignTotal& total : memory_.totals()) hardware.totals.push_back(std::move(total));
  return hardware;
}

std::vector<LayerPasses> TileChip::plan(const Trace& trace, const SimOptions& options) const {
  if (!memory_.sized().used()) return {};
  return memory_.sized().plan(trace, options.operations, plan_, memory_.dram());
}

OpResult TileChip::result(const OperationWork& work, const Placement& placement,
                          const TileOutcome& outcome) const {
  const TileTiming timing = memory_.time(work, placement, outcome.compute_cycles,
                                         {outcome.stored ? &*outcome.stored : nullptr, outcome.output_cycles,
                                          outcome.transposed.empty() ? nullptr : &outcome.transposed});
  OpResult result{.op = work.op,
                  .scheduled = outcome.scheduled,
                  .macs = work.macs.macs,
                  .scheduled_macs = outcome.scheduled_macs,
                  .effectual_macs = outcome.effectual_macs,
                  .cycles = timing.cycles,
                  .counters = outcome.counters,
                  .mapping = mapping(work, placement),
                  .activity = timing.activity,
                  .dram_tensors = timing.dram_tensors};
  count_actions(result, timing, work.batch_scale,
                timing.activity.scratchpad_reads - outcome.scratchpad_reads_elsewhere);
  return result;
}

UnitRecord TileChip::dense_units(const Placement& placement) const {
  UnitRecord record;
  for (const PlacedProduct& product : placement.placed) {
    const TileGrid& grid = product.grid;
    const std::int64_t steps = product.rows->steps();
    if (product.needed != nullptr) {
      const UnitRecording recording(&record);
      clock_all_steps(product);
      continue;
    }
    std::vector<std::int64_t> busy;
    for (std::int64_t column = 0; column < grid.tile_columns; ++column) {
      for (std::int64_t row = 0; row < grid.tile_rows; ++row)
        busy.push_back(steps * grid.row_groups_of(row) * grid.column_groups_of(column));
    }
    record.add(grid.dense_cycles(steps), busy);
  }
  record.unit = unit_name(record);
  return record;
}

std::string TileChip::unit_name(const UnitRecord& units) const {
  const std::vector<UnitSpan>& spans = units.spans();
  const bool rows = !spans.empty() && std::ssize(spans.front().busy) == tile().tiles * tile().rows;
  return rows && tile().rows > 1 ? "row of PEs" : "tile";
}

// Products of an operation differ in size alone; the first one stands for all.
std::vector<MappingChoice> TileChip::mapping(const OperationWork& work, const Placement& placement) const {
  const auto [primary, secondary] = operands(work.op);
  const bool primary_on_rows = placement.row_operand == primary;
  std::vector<MappingChoice> mapping{
      {"rows", std::string(operand_name(placement.row_operand))},
      {"columns", std::string(operand_name(primary_on_rows ? secondary : primary))},
      {"products", std::ssize(placement.placed)}};
  if (placement.placed.empty()) return mapping;
  const PlacedProduct& first = placement.placed.front();
  const TileGrid& grid = first.grid;
  const auto add = [&](const char* name, std::variant<std::int64_t, std::string> value) {
    mapping.push_back({name, std::move(value)});
  };
  add("row_streams", first.rows->count());
  add("column_streams", first.columns->count());
  add("steps", first.rows->steps());
  add("tile_grid", fmt::format("{}x{}", grid.tile_rows, grid.tile_columns));
  add("dealing", std::string(dealing_name(grid.dealing)));
  add("order", plan_.order == VisitOrder::kRowMajor ? "row-major" : "column-major");
  add("transposed", memory_.transposed(work.op));
  if (first.needed != nullptr) add("outputs", "needed");
  if (!memory_.sized().used()) return mapping;
  const TensorPasses passes = memory_.passes(work, placement.row_operand);
  add("row_passes", primary_on_rows ? passes.primary : passes.secondary);
  add("column_passes", primary_on_rows ? passes.secondary : passes.primary);
  add("output_writes", passes.output_writes);
  return mapping;
}

void TileChip::count_actions(OpResult& result, const TileTiming& timing, double batch_scale,
                             std::int64_t scratchpad_reads) const {
  const Activity& activity = *result.activity;
  const auto scaled = [&](std::int64_t count) { return static_cast<double>(count) * batch_scale; };
  // ASSUMPTION(A16): logic costs its power for the cycles it is clocked, unless zero operands are priced
  // separately; it is not clocked while the tiles wait for memory.
  const double clocked = scaled(activity.compute_cycles);
  const double multiplying =
      zero_action_ == "cycle" ? multipliers() * clocked : scaled(result.effectual_macs);
  result.actions = {{"cores", "mac", "cycle", multiplying},
                    {"transposers", "transposer", "cycle", memory_.transposer_units() * clocked},
                    {"scratchpads", "scratchpad", "read", scaled(scratchpad_reads) * rows_of_16()},
                    {"scratchpads", "scratchpad", "write", scaled(activity.scratchpad_writes) * rows_of_16()},
                    {"scratchpads", "partial_sum", "read", scaled(activity.psum_reads)},
                    {"scratchpads", "partial_sum", "write", scaled(activity.psum_writes)}};
  if (zero_action_ != "cycle")
    result.actions.push_back({"cores", "mac", zero_action_, multipliers() * clocked - multiplying});
  const double seconds = scaled(result.cycles) / (memory_.dram().frequency_mhz() * 1e6);
  for (ActionCount& count :
       memory_actions(activity, batch_scale, rows_of_16(), seconds * memory_.dram().powered())) {
    if (count.component == "sram")
      count.count *= count.action == "read" ? timing.read_cost : timing.write_cost;
    result.actions.push_back(std::move(count));
  }
}

double TileChip::output_rows(const OpResult& result, double batch_scale) const {
  return batch_count(*result.activity, batch_scale, &TensorTraffic::output_rows) * rows_of_16();
}

Component tags_component(const ValueTags& tags, const TileChip& chip) {
  const double share = share_of_row(tags, chip);
  const TileShape& tile = chip.tile();
  const double banks = (tags.on_rows_only ? 1 : 2) * chip.memory().sram_units();
  const std::int64_t lines = tile.rows + (tags.on_rows_only ? 0 : tile.columns);
  const double scratchpads = chip.memory().scratchpad_units(lines);
  return {
      tags.component,
      tags.title,
      ComponentGroup::kSram,
      {{"sram", banks * share, {"read", "write"}}, {"scratchpad", scratchpads * share, {"read", "write"}}}};
}

void append_tags_actions(const ValueTags& tags, const TileChip& chip, const OperationWork& work,
                         const Placement& placement, Operand role, OpResult& result) {
  const Activity& activity = *result.activity;
  const ScratchpadTraffic scratchpads = chip.memory().scratchpads(placement);
  const bool on_rows = role == placement.row_operand;
  const double share = share_of_row(tags, chip) * chip.rows_of_16();
  const auto scaled = [&](std::int64_t rows) { return static_cast<double>(rows) * work.batch_scale * share; };
  const std::int64_t fills = ceil_div(work.layer.tensor(role).elements(), chip.tile().lanes);
  // Weights come once per batch.
  const double written =
      work.layer.shape.once_per_batch(role) ? static_cast<double>(fills) * share : scaled(fills);
  result.actions.insert(
      result.actions.end(),
      {{tags.component, "sram", "read", scaled(on_rows ? activity.bm_reads : activity.am_reads)},
       {tags.component, "sram", "write", written},
       {tags.component, "scratchpad", "read",
        scaled(on_rows ? scratchpads.row_reads : scratchpads.column_reads)},
       {tags.component, "scratchpad", "write",
        scaled(on_rows ? scratchpads.row_writes : scratchpads.column_writes)}});
}

}  // namespace lacuna
