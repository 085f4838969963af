// Traffic of an operation through the memory system of the tiles, in closed form from shapes and numbers of
// non-zeros.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/ceil_div.hpp"
#include "sim/tile/tile_memory.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna {
namespace {

// Blocks at a stride meet in banks (tensor/group_layout_test.cpp): only A is read at a stride, where its
// positions are those of the outputs.
std::int64_t blocks_per_bank(const LayerShape& shape, Operation op, Operand role, std::int64_t banks) {
  if (role != Operand::kA || op == Operation::kInputGrad) return 1;
  return std::gcd(shape.stride.w, banks);
}

// Times that a transposer is filled for all streams of an operand to pass once: a fill holds one block of
// channels at as many positions (or filters, or samples) as there are lanes, and serves the streams of all
// channels in it.
std::int64_t groups_of(const OperandStreams& streams) {
  const std::int64_t first = streams.channel0 / streams.lanes;
  const std::int64_t last = (streams.channel0 + streams.channels - 1) / streams.lanes;
  return streams.count() / streams.channels * (last - first + 1) * streams.steps();
}

// Rows of a stored form in place of `rows` of the dense form.
std::int64_t stored_rows(std::int64_t rows, const StoredForm& form) {
  return ceil_cycles(static_cast<double>(rows) * form.on_chip_share);
}

// Nothing if the tensor is stored as values.
const StoredForm* form_of(const StoredForms* stored, Operand role) {
  if (stored == nullptr) return nullptr;
  const std::optional<StoredForm>& form = (*stored)[role];
  return form ? &*form : nullptr;
}

}  // namespace

TensorTraffic TileMemory::operand_traffic(std::int64_t elements, std::int64_t nonzeros) const {
  TensorTraffic traffic = dram_.read(elements, nonzeros);
  traffic.fill_rows = ceil_div(elements, tile_.lanes);
  return traffic;
}

TensorTraffic TileMemory::output_traffic(std::int64_t elements, std::int64_t nonzeros) const {
  TensorTraffic traffic = dram_.write(elements, nonzeros);
  traffic.output_rows = ceil_div(elements, tile_.lanes);
  return traffic;
}

double TileMemory::first_and_last_block(std::int64_t read_bytes, std::int64_t write_bytes) const {
  const std::int64_t lines = tile_.rows + tile_.columns;
  const std::int64_t first =
      tile_.tiles * lines * streams_per_line_ * chunk_steps_ * tile_.lanes * dram_.value_bytes();
  const std::int64_t last =
      tile_.tiles * tile_.rows * tile_.columns * streams_per_line_ * streams_per_line_ * dram_.value_bytes();
  return static_cast<double>(std::min(first, read_bytes) + std::min(last, write_bytes)) /
         dram_.bytes_per_cycle();
}

void TileMemory::count_product(const PlacedProduct& placed, const TransposedGroups& fetched,
                               Activity& activity, Streams& streams, ScratchpadTraffic& scratchpads) const {
  const TileGrid& grid = placed.grid;
  const std::int64_t row_streams = placed.rows->count();
  const std::int64_t column_streams = placed.columns->count();
  const std::int64_t steps = placed.rows->steps();
  const TilePasses by_columns = grid.column_passes(streams_per_line_, multicast_);
  const TilePasses by_rows = grid.row_passes(streams_per_line_, multicast_);
  const std::int64_t row_words = row_streams * steps;
  const std::int64_t column_words = column_streams * steps;
  streams.row_reads += row_words * by_columns.reads;
  streams.column_reads += column_words * by_rows.reads;
  streams.row_groups += fetched.rows.value_or(groups_of(*placed.rows)) * by_columns.reads;
  streams.column_groups += fetched.columns.value_or(groups_of(*placed.columns)) * by_rows.reads;
  scratchpads.row_writes += row_words * by_columns.writes;
  scratchpads.column_writes += column_words * by_rows.writes;
  std::int64_t row_reads = row_streams * grid.column_groups, column_reads = column_streams * grid.row_groups;
  std::int64_t outputs = row_streams * column_streams;
  if (placed.needed != nullptr) {  // brought to the scratchpads as ever, but not read for what is left out
    row_reads = column_reads = 0;
    outputs = placed.needed->count();
    for (std::int64_t i = 0; i < std::ssize(placed.met); ++i) {
      const PlacedProduct::Met& met = placed.met[static_cast<std::size_t>(i)];
      const std::int64_t first = i / grid.tile_columns * tile_.rows;
      row_reads += std::min(tile_.rows, row_streams - first) * met.groups;
      column_reads += met.columns;
    }
  }
  scratchpads.row_reads += row_reads * steps;
  scratchpads.column_reads += column_reads * steps;
  const std::int64_t chunks = outputs * ceil_div(steps, chunk_steps_);
  activity.psum_reads += chunks;
  activity.psum_writes += chunks;
}

ScratchpadTraffic TileMemory::scratchpads(const Placement& placement) const {
  ScratchpadTraffic scratchpads;
  Activity other;
  Streams streams;
  for (const PlacedProduct& placed : placement.placed) {
    count_product(placed, {}, other, streams, scratchpads);
  }
  return scratchpads;
}

TensorPasses TileMemory::passes(const OperationWork& work, Operand row_operand) const {
  if (!sized_.used()) return {};
  if (work.passes) return *work.passes;
  // An operation by itself, with its whole batch.
  const LayerShape& shape = work.layer.shape;
  const auto [primary, secondary] = operands(work.op);
  const auto whole = [&](std::int64_t count, bool weights) {
    return weights ? count : ceil_cycles(static_cast<double>(count) * work.batch_scale);
  };
  const auto bytes = [&](Operand role) {
    return whole(work.layer.tensor(role).elements() * dram_.value_bytes(), shape.once_per_batch(role));
  };
  const auto bus = [&](Operand role) {
    const LayerTensor& tensor = work.layer.tensor(role);
    return whole(dram_.read(tensor.elements(), tensor.nonzeros).dram_read_bytes, shape.once_per_batch(role));
  };
  const Operand column_operand = row_operand == primary ? secondary : primary;
  const std::int64_t output = result_elements(work.layer.shape, work.op) * dram_.value_bytes();
  const OperandPasses found =
      sized_.passes({bytes(row_operand), bytes(column_operand), whole(output, shape.once_per_batch(work.op)),
                     bus(row_operand), bus(column_operand)});
  TensorPasses result;
  result.primary = row_operand == primary ? found.rows : found.columns;
  result.secondary = row_operand == primary ? found.columns : found.rows;
  return result;
}

// Larger memories cost more per access: CACTI 7's 64 KB, 256 KB and 1 MB banks with a 64 B port take 110, 287
// and 736 pJ per read, an exponent of 0.69 and 0.68.
void TileMemory::price_accesses(const OperationWork& work, const TensorTraffic& on_rows,
                                const TensorTraffic& on_columns, const TensorTraffic& output,
                                Operand row_operand, TileTiming& timing) const {
  constexpr double kExponent = 0.685;
  if (sized_.am_scale() == 1 && sized_.bm_scale() == 1 && sized_.cm_scale() == 1) return;
  const double am = std::pow(sized_.am_scale(), kExponent), bm = std::pow(sized_.bm_scale(), kExponent),
               cm = std::pow(sized_.cm_scale(), kExponent);
  const auto batch = [&](std::int64_t count, bool weights) {
    return static_cast<double>(count) * (weights ? 1 : work.batch_scale);
  };
  const auto [primary, secondary] = operands(work.op);
  const Operand column_operand = row_operand == primary ? secondary : primary;
  const LayerShape& shape = work.layer.shape;
  const double outputs = batch(output.output_rows, shape.once_per_batch(work.op));
  const double am_reads = batch(timing.activity.am_reads, false),
               bm_reads = batch(timing.activity.bm_reads, false);
  const double am_fills = batch(on_columns.fill_rows, shape.once_per_batch(column_operand)),
               bm_fills = batch(on_rows.fill_rows, shape.once_per_batch(row_operand));
  const auto mean = [](double sum, double count) { return count > 0 ? sum / count : 1; };
  timing.read_cost = mean(am_reads * am + bm_reads * bm + outputs * cm, am_reads + bm_reads + outputs);
  timing.write_cost = mean(am_fills * am + bm_fills * bm + outputs * cm, am_fills + bm_fills + outputs);
}

// Groups of lanes x lanes values as GroupLayout has them: of positions of a row, or of filters of a tap.
DramTensor TileMemory::dram_tensor(const Layer& layer, Operand role, Operation op) const {
  DramTensor tensor{.name = std::string(operand_name(role))};
  if (!is_transposed(role, op)) return tensor;
  const LayerShape& s = layer.shape;
  const std::int64_t lanes = tile_.lanes;
  const bool weights = role == Operand::kW;
  const Size2 plane = role == Operand::kA ? s.input : s.output;
  tensor.channel_groups = ceil_div(weights ? s.c_per_group() : role == Operand::kA ? s.c : s.k, lanes);
  tensor.groups = tensor.channel_groups * (weights         ? s.taps() * ceil_div(s.k, lanes)
                                           : s.is_matrix() ? ceil_div(s.n, lanes)
                                                           : s.n * plane.h * ceil_div(plane.w, lanes));
  return tensor;
}

void TileMemory::count_tensors(const OperationWork& work, Operand row_operand, const StoredForms* stored,
                               Activity& activity, TensorTraffic& on_rows, TensorTraffic& on_columns,
                               TensorTraffic& output, std::vector<DramTensor>& tensors) const {
  const Layer& layer = work.layer;
  const Operation op = work.op;
  const auto [primary, secondary] = operands(op);
  const Operand column_operand = row_operand == primary ? secondary : primary;
  // ASSUMPTION(A14): each tensor crosses the DRAM bus once per operation; A32 where memories have a size.
  const TensorPasses passes = this->passes(work, row_operand);
  const auto operand = [&, first = primary](Operand role) {
    const LayerTensor& tensor = layer.tensor(role);
    TensorTraffic traffic = operand_traffic(tensor.elements(), tensor.nonzeros);
    if (const StoredForm* form = form_of(stored, role)) {
      traffic.dram_read_bytes = form->off_chip_bytes;
      traffic.dram_activations = dram_.activations(form->off_chip_bytes);
      traffic.fill_rows = stored_rows(traffic.fill_rows, *form);
    }
    const std::int64_t times = role == first ? passes.primary : passes.secondary;
    DramTensor& listed = tensors.emplace_back(dram_tensor(layer, role, op));
    listed.bytes = traffic.dram_read_bytes;
    traffic.dram_activations = dram_.activations(listed);
    listed.reads = times;
    traffic.dram_read_bytes *= times;
    traffic.dram_activations *= times;
    traffic.fill_rows *=
        std::max<std::int64_t>(1, times);  // from another memory of the chip, if not from DRAM
    return traffic;
  };
  on_rows = operand(row_operand);
  on_columns = operand(column_operand);
  output = output_traffic(result_elements(layer.shape, op), result_nonzeros(layer, op));
  // Stored like what is recorded of its shape (A15).
  const Operand alike = op == Operation::kForward ? Operand::kG : Operand::kA;
  const StoredForm* form = op == Operation::kWeightGrad ? nullptr : form_of(stored, alike);
  if (form != nullptr) {
    output.dram_write_bytes = form->off_chip_bytes;
    output.dram_activations = dram_.activations(form->off_chip_bytes);
    output.output_rows = stored_rows(output.output_rows, *form);
  }
  tensors.push_back({.name = "output",
                     .bytes = output.dram_write_bytes,
                     .reads = passes.output_reads,
                     .writes = passes.output_writes});
  output.dram_read_bytes = output.dram_write_bytes * passes.output_reads;
  output.dram_write_bytes *= passes.output_writes;
  output.dram_activations *= passes.output_reads + passes.output_writes;
  const auto add = [&](const TensorTraffic& traffic, bool weights) {
    (weights ? activity.weights : activity.samples).add(traffic);
  };
  add(on_rows, layer.shape.once_per_batch(row_operand));
  add(on_columns, layer.shape.once_per_batch(column_operand));
  add(output, layer.shape.once_per_batch(op));
}

void TileMemory::count_transposers(Operation op, const Placement& placement, const Streams& streams,
                                   bool fetched, Activity& activity) const {
  const auto [primary, secondary] = operands(op);
  const Operand column_operand = placement.row_operand == primary ? secondary : primary;
  if (is_transposed(placement.row_operand, op)) activity.transposed_groups += streams.row_groups;
  if (is_transposed(column_operand, op)) activity.transposed_groups += streams.column_groups;
  const TransposerTiming timing{transposers_, transposer_cycles_, tile_.lanes};
  if (!fetched) {
    activity.transposer_cycles = timing.total(activity.transposed_groups);
    return;
  }
  TransposerBank bank(timing);
  for (std::int64_t group = 0; group < activity.transposed_groups; ++group) bank.add_group();
  activity.transposer_cycles = bank.finish();
}

void TileMemory::count(const OperationWork& work, const Placement& placement, std::int64_t compute_cycles,
                       const TileTimeInputs& inputs, TileTiming& timing) const {
  const StoredForms* stored = inputs.stored;
  const Layer& layer = work.layer;
  const Operation op = work.op;
  Activity& activity = timing.activity;
  Streams streams;
  ScratchpadTraffic scratchpads;
  for (std::size_t i = 0; i < placement.placed.size(); ++i) {
    count_product(placement.placed[i],
                  inputs.transposed != nullptr ? (*inputs.transposed)[i] : TransposedGroups{}, activity,
                  streams, scratchpads);
  }
  if (const StoredForm* form = form_of(stored, placement.row_operand); form != nullptr && form->executed) {
    scratchpads.row_reads = stored_rows(scratchpads.row_reads, *form);
    scratchpads.row_writes = stored_rows(scratchpads.row_writes, *form);
  }
  activity.scratchpad_reads = scratchpads.row_reads + scratchpads.column_reads;
  activity.scratchpad_writes = scratchpads.row_writes + scratchpads.column_writes;
  const auto [primary, secondary] = operands(op);
  const Operand row_operand = placement.row_operand;
  const Operand column_operand = row_operand == primary ? secondary : primary;
  TensorTraffic on_rows, on_columns, output;
  count_tensors(work, row_operand, stored, activity, on_rows, on_columns, output, timing.dram_tensors);
  count_transposers(op, placement, streams, inputs.transposed != nullptr, activity);
  if (const StoredForm* form = form_of(stored, row_operand))
    streams.row_reads = stored_rows(streams.row_reads, *form);
  if (const StoredForm* form = form_of(stored, column_operand))
    streams.column_reads = stored_rows(streams.column_reads, *form);
  // [TensorDash §3.3]: the side whose zeros are skipped is B.
  activity.bm_reads = streams.row_reads;
  activity.am_reads = streams.column_reads;
  activity.compute_cycles = compute_cycles;

  // Tensors that move once per batch cost these samples their share of it.
  const auto share = [&](bool weights, std::int64_t count) {
    return weights ? static_cast<double>(count) / work.batch_scale : static_cast<double>(count);
  };
  const auto sum = [&](std::int64_t TensorTraffic::*count) {
    return share(false, activity.samples.*count) + share(true, activity.weights.*count);
  };
  const DramMoves moves{.read_bytes = sum(&TensorTraffic::dram_read_bytes),
                        .write_bytes = sum(&TensorTraffic::dram_write_bytes),
                        .activations = sum(&TensorTraffic::dram_activations)};
  activity.dram_bytes = ceil_cycles(moves.read_bytes + moves.write_bytes);
  activity.dram_cycles = ceil_cycles(dram_.cycles(moves));

  const double banks = static_cast<double>(sram_banks_);
  const auto operand_sram = [&](Operand role, std::int64_t reads, const TensorTraffic& traffic) {
    const std::int64_t meet = blocks_per_bank(layer.shape, op, role, sram_banks_);
    activity.sram_conflict_cycles += ceil_cycles(static_cast<double>(reads * (meet - 1)) / banks);
    return (static_cast<double>(reads * meet) + share(layer.shape.once_per_batch(role), traffic.fill_rows)) /
           banks;
  };
  const double sram = std::max({operand_sram(row_operand, streams.row_reads, on_rows),
                                operand_sram(column_operand, streams.column_reads, on_columns),
                                2 * share(layer.shape.once_per_batch(op), output.output_rows) / banks});
  activity.sram_cycles = ceil_cycles(sram);
  // Steps follow one another in the banks of a scratchpad, so as many rows can be read in a cycle as there
  // are banks.
  activity.scratchpad_cycles = ceil_div(placement.dense_cycles(), scratchpad_banks_);
  activity.fill_cycles = ceil_cycles(
      first_and_last_block(on_rows.dram_read_bytes + on_columns.dram_read_bytes, output.dram_write_bytes));
  price_accesses(work, on_rows, on_columns, output, row_operand, timing);
}

}  // namespace lacuna
