#include "sim/tile/value_tags.hpp"

namespace lacuna {
namespace {

// Of a row of values.
double share_of_row(const ValueTags& tags, const TileChip& chip) {
  return tags.bits / bits_of(chip.data_type());
}

}  // namespace

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
