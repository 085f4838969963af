#include "models/tensordash/storage/stored_memory.hpp"

#include <algorithm>

#include "models/tensordash/engine/stored_schedule.hpp"
#include "models/tensordash/storage/backside_scheduler.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "models/tensordash/storage/storage_footprint.hpp"

namespace lacuna::tensordash {
namespace {

std::int64_t bytes_of_bits(std::int64_t bits) { return (bits + 7) / 8; }

// Returns true if the operand is expanded to dense form on its way to the scratchpads.
bool is_expanded(const StoredForms& forms, Operand role) {
  const auto& form = forms[role];
  return form && !form->executed;
}

}  // namespace

StoredMemory::StoredMemory(const Config& config, const TileChip& chip) : config_(config), chip_(chip) {}

double StoredMemory::mux_inputs() const {
  return static_cast<double>(config_.tile.lanes) *
         static_cast<double>(config_.scheduler.connectivity().movements().size());
}

std::vector<Component> StoredMemory::components() const {
  std::vector<Component> all;
  if (!used()) return all;
  // ASSUMPTION(A31): one decompressor per bank of AM and BM, so that they deliver as many rows as without.
  all.push_back(
      {"decompressors",
       "decompressors",
       ComponentGroup::kCore,
       {{"mux_input", 2 * static_cast<double>(chip_.memory().sram_banks()) * mux_inputs(), {"cycle"}}}});
  if (config_.has_backside()) {
    const auto schedulers = static_cast<double>(config_.tile.tiles * config_.backside_schedulers);
    const double movements = mux_inputs() / static_cast<double>(config_.tile.lanes);
    const auto lanes = static_cast<double>(backside_lanes(config_));
    all.push_back({"backside_schedulers",
                   "backside schedulers",
                   ComponentGroup::kCore,
                   {{"scheduler_input", schedulers * lanes * movements, {"cycle"}},
                    {"mux_input", schedulers * mux_inputs(), {"cycle"}}}});
  }
  return all;
}

// ASSUMPTION(A29): what an operation writes has the form of what is recorded of its shape: outputs that of G,
// input gradients that of A, as A15 has it for zeros; gradients of weights stay dense. The memory model
// (sim/tile/tile_memory.hpp) applies it.
StoredForms StoredMemory::forms(const OperationWork& work, Operand row_operand, bool executed) const {
  const Layer& layer = work.layer;
  const Connectivity& connectivity = config_.scheduler.connectivity();
  const FormBits bits = form_bits(connectivity);
  const int value_bits = bits_of(chip_.data_type());
  const StorageParams params{.grouping = config_.storage == Storage::kBlocks ? Grouping::kBlocks
                                                                             : Grouping::kChannels};
  StoredForms forms;
  for (const Operand role : kOperands) {
    if (!config_.is_stored(layer.shape, role)) continue;
    std::int64_t rows = 0, pointers = 0;  // bits
    if (!layer.shape.once_per_batch(role) || config_.storage == Storage::kBlocks) {
      const StorageCounts counts =
          count_storage(layer.shape, role, layer.tensor(role).mask, LaneSelector(connectivity), params);
      rows = counts.slots * (value_bits + bits.move) + counts.rows * bits.advance;
      pointers = counts.groups * params.pointer_bits;
    } else {
      // Filters as the rows of a tile take them, one pointer each.
      TilePlan plan = chip_.plan();
      plan.policy = Operand::kW;
      rows = stored_filter_rows(config_, place_operation(layer, Operation::kForward, plan)) *
             (config_.tile.lanes * (bits.move + value_bits) + bits.advance);
      pointers = layer.shape.k * params.pointer_bits;
    }
    // Rows are read and written on chip, rows and pointers cross the pins.
    const std::int64_t dense = bytes_of_bits(layer.tensor(role).elements() * value_bits);
    forms[role] = {.on_chip_share = static_cast<double>(bytes_of_bits(rows)) / static_cast<double>(dense),
                   .off_chip_bytes = bytes_of_bits(rows + pointers),
                   .executed = executed && role == row_operand};
  }
  return forms;
}

void StoredMemory::schedule_outputs(const OperationWork& work, TileOutcome& outcome) const {
  if (!config_.has_backside()) return;
  std::int64_t stalls = 0;
  if (stores_output(work.op)) {
    const BacksideLoad load = backside_load(work.layer.shape, work.op, outcome.compute_cycles, config_);
    outcome.output_cycles = load.schedule_cycles;
    stalls = load.stalls();
  }
  outcome.counters.push_back({"backside_stall_cycles", stalls});
}

void StoredMemory::count_actions(const OperationWork& work, Operand row_operand, const StoredForms& forms,
                                 OpResult& result) const {
  if (!used()) return;
  const auto [primary, secondary] = operands(work.op);
  const Operand column_operand = row_operand == primary ? secondary : primary;
  double expanded = 0;  // rows of scheduled form
  if (is_expanded(forms, row_operand)) expanded += static_cast<double>(result.activity->bm_reads);
  if (is_expanded(forms, column_operand)) expanded += static_cast<double>(result.activity->am_reads);
  result.actions.push_back(
      {"decompressors", "mux_input", "cycle", expanded * work.batch_scale * mux_inputs()});
  if (!config_.has_backside()) return;
  double blocks = 0;
  if (stores_output(work.op)) {
    blocks =
        work.batch_scale * static_cast<double>(backside_load(work.layer.shape, work.op, 1, config_).blocks);
  }
  const double movements = mux_inputs() / static_cast<double>(config_.tile.lanes);
  const double choices = static_cast<double>(backside_lanes(config_)) * movements *
                         static_cast<double>(cycles_per_block(config_));
  result.actions.push_back({"backside_schedulers", "scheduler_input", "cycle", blocks * choices});
  result.actions.push_back({"backside_schedulers", "mux_input", "cycle", blocks * mux_inputs()});
}

LayerValues StoredMemory::through_memory(const LayerShape& shape, LayerValues values) const {
  const ScheduledCodec codec(config_.scheduler.connectivity());
  for (const Operand role : kOperands) {
    if (!config_.is_stored(shape, role)) continue;
    TensorValues& tensor = values.of(role);
    const TensorGroups groups(shape, role,
                              config_.storage == Storage::kBlocks ? Grouping::kBlocks : Grouping::kFilters,
                              config_.tile.lanes);
    const auto rows = static_cast<std::int64_t>(tensor.data.size()) / tensor.channels;
    // The values are those of the data type already; 32 bits hold them exactly.
    const StoredTensor stored = store_tensor(codec, groups, tensor.data, tensor.channels, DataType::kFp32);
    tensor.data = load_tensor(codec, groups, stored, rows, tensor.channels, DataType::kFp32, "stored tensor");
  }
  return values;
}

std::vector<float> StoredMemory::stored_outputs(const LayerShape& shape, Operation op,
                                                const std::vector<float>& outputs) const {
  if (!stores_output(op)) return outputs;
  const ScheduledCodec codec(config_.scheduler.connectivity());
  BacksideScheduler scheduler(config_.scheduler.connectivity());
  const std::int64_t channels = op == Operation::kForward ? shape.k : shape.c;
  const std::int64_t lanes = config_.tile.lanes;
  const GroupShape group_shape = vector_shape(channels, config_.tile.lanes);
  std::vector<float> loaded;
  for (auto at = outputs.begin(); at != outputs.end(); at += channels) {
    for (std::int64_t c = 0; c < channels; c += lanes)
      scheduler.push({at + c, static_cast<std::size_t>(std::min(lanes, channels - c))});
    scheduler.end_group();
    while (!scheduler.done()) scheduler.cycle();
    const std::vector<float> position = codec.decode(group_shape, scheduler.take(), "stored outputs");
    loaded.insert(loaded.end(), position.begin(), position.end());
  }
  return loaded;
}

}  // namespace lacuna::tensordash
