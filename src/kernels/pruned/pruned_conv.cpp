#include "kernels/pruned/pruned_conv.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <omp.h>

namespace lacuna::kernels {

namespace {

// Bytes of a result that may still be in a cache when it is read. Larger ones are written around the caches:
// 1x1 64->256 on 16 images of 56x56 (51 MB) took 5.3 ms instead of 8.4.
constexpr std::int64_t kLargestCached = std::int64_t{16} << 20;
// Bytes of sums that stay in L2 between parts of the inputs.
constexpr std::int64_t kMostSums = std::int64_t{1} << 20;

// With or_weights the options name the other operand that may be skipped.
KernelConfig checking_weights(KernelConfig config) {
  config.checked = Operand::kW;
  return config;
}

PrunedGeometry geometry_of(const KernelConfig& config, const Sides& sides) {
  PrunedGeometry geometry(config.shape, config.options.op, sides.checked, sides.other);
  if (!geometry.supported())
    throw ConvError(ConvError::Code::kShape,
                    "pruned has neither groups that end inside a block nor taps that far apart",
                    "use direct");
  return geometry;
}

LinesAhead lines_ahead(const BlockedShape& of, const float* base, const std::vector<std::int64_t>& offsets,
                       std::int64_t blocks, std::int64_t rows) {
  LinesAhead ahead{};
  ahead.base = base;
  ahead.offsets = offsets.data();
  ahead.count = static_cast<std::int64_t>(offsets.size());
  ahead.block_floats = of.block_floats();
  ahead.lines = blocks * ahead.count;
  ahead.per_row = round_up((ahead.lines + rows - 1) / rows, 4);
  return ahead;
}

}  // namespace

const PrunedKernels& pruned_kernels(Isa isa) {
  return LACUNA_OF_ISA(isa, kPortablePruned, kAvx2Pruned, kAvx512Pruned);
}

PrunedConv::PrunedConv(const KernelConfig& config)
    : SparseConv(checking_weights(config), "pruned"),
      loops_(pruned_kernels(config.isa)),
      input_(sides_.checked),
      result_(sides_.other),
      geometry_(geometry_of(config, sides_)),
      lists_(shape_, op_, ohwi_, geometry_, loops_, config.l1_bytes, threads_),
      scratch_(static_cast<std::size_t>(threads_)) {
  for (Scratch& scratch : scratch_) {
    for (Scratch::Inputs* inputs : {&scratch.inputs, &scratch.next}) {
      inputs->slots.reserve(static_cast<std::size_t>(geometry_.slots()));
      inputs->offsets.reserve(static_cast<std::size_t>(geometry_.slots() * kLanes));
    }
    for (std::vector<std::int64_t>* results : {&scratch.results, &scratch.next_results})
      results->reserve(static_cast<std::size_t>(geometry_.most_pixels() * kLanes));
    for (std::int32_t pixel = 0; pixel < geometry_.most_pixels(); ++pixel) scratch.pixels.push_back(pixel);
  }
}

std::int64_t PrunedConv::input_floats() const {
  return input_.blocks() * kLanes * geometry_.slots() * kLanes;
}

std::int64_t PrunedConv::unit_parts() const {
  const auto part = lists_.result_part() * geometry_.most_pixels() * kLanes * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kMostSums / part, 1, lists_.result_parts());
}

std::int64_t PrunedConv::thread_floats() const {
  return input_floats() + unit_parts() * lists_.result_part() * geometry_.most_pixels() * kLanes;
}

double PrunedConv::zeros() const {
  return 1 - static_cast<double>(lists_.nonzeros()) / static_cast<double>(shape_.w_elements());
}

bool PrunedConv::update(const float* plain) {
  const bool kept = lists_.update(plain);
  if (op_ != Operation::kWeightGrad) return kept;
  std::size_t entries = 0;
  for (const WeightBlocks& list : lists_.all()) entries += list.entries.size();
  for (Scratch& scratch : scratch_) scratch.gradients.resize(entries);
  return kept;
}

void PrunedConv::use_weights(const float* plain) {
  has_pattern_ = false;
  update(plain);
}

void PrunedConv::use_pattern(const std::uint8_t* kept) {
  forget_weights();
  has_pattern_ = kept != nullptr;
  if (has_pattern_) update(std::vector<float>(kept, kept + shape_.w_elements()).data());
}

void PrunedConv::pack(const float* plain, float* packed) {
  static std::atomic<std::uint64_t> last{0};
  update(plain);
  stamp_ = ++last;
  std::memcpy(packed, &stamp_, sizeof stamp_);
}

void PrunedConv::prepare(const ConvTensors& t) {
  if (packs_weights_) {
    std::uint64_t found = 0;
    std::memcpy(&found, t.weights, sizeof found);
    if (stamp_ == 0 || found != stamp_)
      throw ConvError(ConvError::Code::kOption, "these weights are not the ones packed last by this plan",
                      "call pack_weights() before run()");
  } else if (t.weights != nullptr) {
    if (same_weights(t)) return;
    if (has_pattern_)
      lists_.replace_values(t.weights);
    else
      update(t.weights);
  } else if (!has_weights()) {
    throw ConvError(ConvError::Code::kNullPointer, "weights is null",
                    "give the weights or call use_weights()");
  }
}

// Channels-last tensors may begin anywhere; such stores want whole lines.
bool PrunedConv::around_caches(const float* result) const {
  return result_.floats() * static_cast<std::int64_t>(sizeof(float)) > kLargestCached &&
         reinterpret_cast<std::uintptr_t>(result) % (kLanes * sizeof(float)) == 0;
}

void PrunedConv::pack_inputs(const Scratch::Inputs& at, const float* input, std::int64_t part,
                             float* packed) const {
  PackLanes job{};
  job.offsets = at.offsets.data();
  job.slots = at.slots.data();
  job.count = static_cast<std::int64_t>(at.slots.size());
  job.channel_floats = geometry_.slots() * kLanes;
  const std::int64_t first = part * lists_.input_part() / kLanes;
  const std::int64_t end = std::min(input_.blocks(), first + lists_.input_part() / kLanes);
  for (std::int64_t block = first; block < end; ++block) {
    job.from = input + block * input_.block_floats();
    job.to = packed + (block - first) * kLanes * job.channel_floats;
    loops_.pack(job);
  }
}

LinesAhead PrunedConv::inputs_ahead(const float* input, const Unit& unit, const Unit* next,
                                    const Scratch& scratch, std::int64_t part, std::int64_t rows) const {
  const bool last = part + 1 == lists_.input_parts();
  if (last && next == nullptr) return {};
  const std::int64_t block = last ? 0 : (part + 1) * lists_.input_part() / kLanes;
  return lines_ahead(
      input_, input + (last ? next->g : unit.g) * input_.group_floats() + block * input_.block_floats(),
      last ? scratch.next.offsets : scratch.inputs.offsets,
      std::min(lists_.input_part() / kLanes, input_.blocks() - block), rows);
}

void PrunedConv::compute(const SparseRun& run) const {
  if (op_ == Operation::kWeightGrad) return weight_grad(run);
  const auto groups = static_cast<std::int64_t>(geometry_.groups().size());
  const std::int64_t parts = lists_.result_parts();
  // With fewer groups of tiles than threads, threads share a group: each packs its inputs for a share of the
  // results. So does a thread with more results than their sums may be.
  const std::int64_t tiles = shape_.groups * groups;
  const std::int64_t least = (parts + unit_parts() - 1) / unit_parts();
  const std::int64_t shares =
      threads_ == 1 ? least : std::clamp<std::int64_t>((2 * threads_ + tiles - 1) / tiles, least, parts);
  const std::int64_t units = tiles * shares;
  // Handed out in runs, so that the inputs of the next unit can be fetched ahead.
  const std::int64_t run_length = threads_ == 1 ? units : std::max<std::int64_t>(1, units / (8 * threads_));
  const auto unit_at = [&](std::int64_t i) {
    const std::int64_t tile = i / shares;
    return Unit{tile / groups, &geometry_.groups()[static_cast<std::size_t>(tile % groups)],
                i % shares * parts / shares, (i % shares + 1) * parts / shares};
  };
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::int64_t first = 0; first < units; first += run_length) {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    Scratch& scratch = scratch_[thread];
    const std::int64_t end = std::min(units, first + run_length);
    Unit unit = unit_at(first);
    geometry_.input_offsets(*unit.tiles, scratch.inputs.slots, scratch.inputs.offsets);
    for (std::int64_t i = first; i < end; ++i) {
      const Unit next = unit_at(std::min(i + 1, units - 1));
      run_unit(run, unit, i + 1 < end ? &next : nullptr, scratch,
               run.workspace + static_cast<std::int64_t>(thread) * thread_floats());
      std::swap(scratch.inputs, scratch.next);
      unit = next;
    }
    // Stores around the caches are not ordered by the end of a parallel loop alone.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// Result pixels that no tap meets (a strided 1x1 convolution has them) are where the sums start.
void PrunedConv::fill(const SparseRun& run, const Unit& unit, const Scratch& scratch) const {
  UnpackLanes job{};
  job.pixels = job.end = static_cast<std::int64_t>(scratch.results.size()) / kLanes;
  job.offsets = scratch.results.data();
  job.relu = run.relu;
  job.around_caches = around_caches(run.out);
  const std::int64_t end = std::min(unit.part_end * lists_.result_part() / kLanes, result_.blocks());
  for (std::int64_t block = unit.part_begin * lists_.result_part() / kLanes; block < end; ++block) {
    job.value = run.bias + (unit.g * result_.blocks() + block) * kLanes;
    job.to = run.out + unit.g * result_.group_floats() + block * result_.block_floats();
    loops_.unpack(job);
  }
}

void PrunedConv::run_unit(const SparseRun& run, const Unit& unit, const Unit* next, Scratch& scratch,
                          float* workspace) const {
  const TileGroup& tiles = *unit.tiles;
  const std::int64_t g = unit.g;
  if (next != nullptr) geometry_.input_offsets(*next->tiles, scratch.next.slots, scratch.next.offsets);
  geometry_.result_offsets(tiles, scratch.results);
  if (geometry_.phases()[static_cast<std::size_t>(tiles.phase)].taps.empty()) return fill(run, unit, scratch);
  float* packed = workspace;
  float* sums = workspace + input_floats();
  const WeightBlocks& list = lists_.of(g, tiles.phase);
  const std::int64_t result_part = lists_.result_part();
  const std::int64_t first = unit.part_begin * result_part;
  const std::int64_t blocks =
      std::min(unit.part_end * result_part / kLanes, result_.blocks()) - first / kLanes;
  PrunedRows job{};
  job.tile = tile_size(tiles);
  job.inputs = packed;
  UnpackLanes result{};
  result.pixels = tiles.rows * tiles.cols;
  result.offsets = scratch.results.data();
  result.relu = run.relu;
  result.around_caches = around_caches(run.out);
  float* out = run.out + g * result_.group_floats() + first / kLanes * result_.block_floats();
  // Lines of the results are fetched while rows are summed. Not for flat tiles, whose rows are short and
  // wait for memory as it is: without, the 1x1 layers of ResNet-50 took 6 and 3 % less at 90 and 95 % zeros.
  LinesAhead write{};
  if (!result.around_caches && !geometry_.flat())
    write = lines_ahead(result_, out, scratch.results, blocks, blocks * kLanes * lists_.input_parts());
  LinesAhead read{};
  job.write = &write;
  job.read = &read;
  for (std::int64_t i = 0; i < lists_.input_parts(); ++i) {
    pack_inputs(scratch.inputs, run.checked + g * input_.group_floats(), i, packed);
    read = inputs_ahead(run.checked, unit, next, scratch, i, blocks * kLanes);
    for (std::int64_t part = unit.part_begin; part < unit.part_end; ++part) {
      const WeightBlocks::Block& block = lists_.block(list, i, part);
      job.sums = sums + (part - unit.part_begin) * result_part * result.pixels * kLanes;
      job.entries = list.entries.data() + block.first_entry;
      job.rows = list.rows.data() + block.first_row;
      job.row_count = block.rows;
      job.init = i == 0 ? run.bias + g * result_.blocks() * kLanes + part * result_part : nullptr;
      loops_.rows(job);
    }
  }
  // The blocks of a channels-last pixel lie side by side and are written one after the other.
  const std::int64_t step = result_.channels_last ? 1 : result.pixels;
  for (result.begin = 0; result.begin < result.pixels; result.begin = result.end) {
    result.end = result.begin + step;
    for (std::int64_t b = 0; b < blocks; ++b) {
      result.from = sums + b * kLanes * result.pixels * kLanes;
      result.to = out + b * result_.block_floats();
      loops_.unpack(result);
    }
  }
}

const ConvImplementation kPrunedConv{
    .name = "pruned",
    .description = "zero weights are skipped: lists of the non-zeros, for sixteen tiles of pixels at a time",
    .skips = Skips::kWeights,
    .form = TensorForm::kBlockedOrChannelsLast,
    .make = make_kernel<PrunedConv>,
    .may_choose = always};

}  // namespace lacuna::kernels
