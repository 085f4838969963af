#include "kernels/pruned/pruned_conv.hpp"

#include <algorithm>
#include <omp.h>

namespace lacuna::kernels {

const PrunedKernels& pruned_kernels(Isa isa) {
#if defined(LACUNA_X86)
  if (isa == Isa::kAvx512) return kAvx512Pruned;
  if (isa == Isa::kAvx2) return kAvx2Pruned;
#endif
  (void)isa;
  return kPortablePruned;
}

std::unique_ptr<PrunedConv> PrunedConv::make(const SparseConfig& config) {
  PrunedGeometry geometry(config.shape, config.op);
  if (!geometry.supported()) return nullptr;
  return std::unique_ptr<PrunedConv>(new PrunedConv(config, std::move(geometry)));
}

PrunedConv::PrunedConv(const SparseConfig& config, PrunedGeometry geometry)
    : shape_(config.shape),
      op_(config.op),
      threads_(config.threads),
      kernels_(pruned_kernels(config.isa)),
      name_(std::string("pruned ") + kernels_.isa),
      input_(op_ == Operation::kInputGrad ? blocked_dst(shape_) : blocked_src(shape_)),
      result_(op_ == Operation::kInputGrad ? blocked_src(shape_) : blocked_dst(shape_)),
      geometry_(std::move(geometry)),
      lists_(shape_, op_, geometry_, config.l1_bytes, threads_),
      scratch_(static_cast<std::size_t>(threads_)) {
  for (Scratch& scratch : scratch_) {
    scratch.slots.reserve(static_cast<std::size_t>(geometry_.slots()));
    scratch.inputs.reserve(static_cast<std::size_t>(geometry_.slots() * kLanes));
    scratch.results.reserve(static_cast<std::size_t>(geometry_.most_pixels() * kLanes));
    for (std::int32_t pixel = 0; pixel < geometry_.most_pixels(); ++pixel) scratch.pixels.push_back(pixel);
  }
}

std::int64_t PrunedConv::input_floats() const {
  return input_.blocks() * kLanes * geometry_.slots() * kLanes;
}

std::int64_t PrunedConv::thread_floats() const {
  return input_floats() + lists_.result_part() * geometry_.most_pixels() * kLanes;
}

std::int64_t PrunedConv::workspace_floats() const { return threads_ * thread_floats(); }

double PrunedConv::zeros() const {
  return 1 - static_cast<double>(lists_.nonzeros()) / static_cast<double>(shape_.w_elements());
}

bool PrunedConv::update(const float* oihw) {
  const bool kept = lists_.update(oihw);
  if (op_ != Operation::kWeightGrad) return kept;
  std::size_t entries = 0;
  for (const WeightBlocks& list : lists_.all()) entries += list.entries.size();
  for (Scratch& scratch : scratch_) scratch.gradients.resize(entries);
  return kept;
}

void PrunedConv::pack_inputs(const TileGroup& tiles, const float* input, Scratch& scratch,
                             float* packed) const {
  geometry_.input_offsets(tiles, scratch.slots, scratch.inputs);
  PackLanes job{};
  job.offsets = scratch.inputs.data();
  job.slots = scratch.slots.data();
  job.count = static_cast<std::int64_t>(scratch.slots.size());
  job.channel_floats = geometry_.slots() * kLanes;
  for (std::int64_t block = 0; block < input_.blocks(); ++block) {
    job.from = input + block * input_.block_floats();
    job.to = packed + block * kLanes * job.channel_floats;
    kernels_.pack(job);
  }
}

void PrunedConv::run(const SparseRun& run) const {
  const auto groups = static_cast<std::int64_t>(geometry_.groups().size());
  const std::int64_t parts = lists_.result_parts();
  // With fewer groups of tiles than threads, threads share a group: each packs its inputs for a share of the
  // results.
  const std::int64_t tiles = shape_.groups * groups;
  const std::int64_t shares =
      threads_ == 1 ? 1 : std::clamp<std::int64_t>((2 * threads_ + tiles - 1) / tiles, 1, parts);
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::int64_t unit = 0; unit < tiles * shares; ++unit) {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::int64_t share = unit % shares;
    run_unit(run, unit / shares / groups,
             geometry_.groups()[static_cast<std::size_t>(unit / shares % groups)], share * parts / shares,
             (share + 1) * parts / shares, scratch_[thread],
             run.workspace + static_cast<std::int64_t>(thread) * thread_floats());
  }
}

void PrunedConv::run_unit(const SparseRun& run, std::int64_t g, const TileGroup& tiles,
                          std::int64_t part_begin, std::int64_t part_end, Scratch& scratch,
                          float* workspace) const {
  float* packed = workspace;
  float* sums = workspace + input_floats();
  pack_inputs(tiles, run.checked + g * input_.group_floats(), scratch, packed);
  geometry_.result_offsets(tiles, scratch.results);
  const WeightBlocks& list = lists_.of(g, tiles.phase);
  const std::int64_t result_part = lists_.result_part();
  const std::int64_t input_parts = lists_.input_parts();
  PrunedRows job{};
  job.tile = tile_size(tiles);
  job.sums = sums;
  UnpackLanes result{};
  result.pixels = tiles.rows * tiles.cols;
  result.offsets = scratch.results.data();
  result.relu = run.relu;
  for (std::int64_t part = part_begin; part < part_end; ++part) {
    const std::int64_t first = part * result_part;
    for (std::int64_t i = 0; i < input_parts; ++i) {
      const WeightBlocks::Block& block = list.blocks[static_cast<std::size_t>(part * input_parts + i)];
      job.inputs = packed + i * lists_.input_part() * geometry_.slots() * kLanes;
      job.entries = list.entries.data() + block.first_entry;
      job.rows = list.rows.data() + block.first_row;
      job.row_count = block.rows;
      job.init = i == 0 ? run.bias + g * result_.blocks() * kLanes + first : nullptr;
      kernels_.rows(job);
    }
    const std::int64_t blocks = std::min(result_part / kLanes, result_.blocks() - first / kLanes);
    for (std::int64_t b = 0; b < blocks; ++b) {
      result.from = sums + b * kLanes * result.pixels * kLanes;
      result.to = run.out + g * result_.group_floats() + (first / kLanes + b) * result_.block_floats();
      kernels_.unpack(result);
    }
  }
}

void PrunedConv::weight_grad(const float* src, const float* diff_dst, float* oihw, float* workspace) {
  const auto groups = static_cast<std::int64_t>(geometry_.groups().size());
#pragma omp parallel num_threads(threads_)
  {
    // Groups of tiles are dealt in turn and not by whoever is free, so that the bits of a sum do not change.
    const auto thread = static_cast<std::int64_t>(omp_get_thread_num());
    const auto team = static_cast<std::int64_t>(omp_get_num_threads());
    for (std::int64_t t = thread; t < threads_; t += team) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(t)];
      std::fill(scratch.gradients.begin(), scratch.gradients.end(), 0.0F);
      for (std::int64_t unit = t; unit < shape_.groups * groups; unit += threads_)
        add_gradients(src, diff_dst, unit / groups,
                      geometry_.groups()[static_cast<std::size_t>(unit % groups)], scratch,
                      workspace + t * thread_floats());
    }
  }
  const std::int64_t weights = shape_.w_elements();
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < weights; ++i) oihw[i] = 0.0F;
  std::size_t first = 0;
  for (const WeightBlocks& list : lists_.all()) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t entry = first + static_cast<std::size_t>(i);
      float sum = 0;
      for (const Scratch& scratch : scratch_) sum += scratch.gradients[entry];
      oihw[list.from[static_cast<std::size_t>(i)]] = sum;
    }
    first += list.entries.size();
  }
}

void PrunedConv::add_gradients(const float* src, const float* diff_dst, std::int64_t g,
                               const TileGroup& tiles, Scratch& scratch, float* workspace) const {
  float* packed = workspace;
  float* gradients = workspace + input_floats();
  pack_inputs(tiles, src + g * input_.group_floats(), scratch, packed);
  geometry_.result_offsets(tiles, scratch.results);
  std::size_t first_of_list = 0;
  for (const WeightBlocks* list = lists_.all().data(); list != &lists_.of(g, tiles.phase); ++list)
    first_of_list += list->entries.size();
  const WeightBlocks& list = lists_.of(g, tiles.phase);
  const std::int64_t input_parts = lists_.input_parts();
  PackLanes pack{};
  pack.offsets = scratch.results.data();
  pack.slots = scratch.pixels.data();
  pack.count = tiles.rows * tiles.cols;
  pack.channel_floats = pack.count * kLanes;
  KeptRows job{};
  job.tile = tile_size(tiles);
  job.gradients = gradients;
  for (std::int64_t part = 0; part < lists_.result_parts(); ++part) {
    const std::int64_t first = part * lists_.result_part();
    const std::int64_t blocks = std::min(lists_.result_part() / kLanes, result_.blocks() - first / kLanes);
    for (std::int64_t b = 0; b < blocks; ++b) {
      pack.from = diff_dst + g * result_.group_floats() + (first / kLanes + b) * result_.block_floats();
      pack.to = gradients + b * kLanes * pack.channel_floats;
      kernels_.pack(pack);
    }
    for (std::int64_t i = 0; i < input_parts; ++i) {
      const WeightBlocks::Block& block = list.blocks[static_cast<std::size_t>(part * input_parts + i)];
      job.inputs = packed + i * lists_.input_part() * geometry_.slots() * kLanes;
      job.entries = list.entries.data() + block.first_entry;
      job.rows = list.rows.data() + block.first_row;
      job.row_count = block.rows;
      job.out = scratch.gradients.data() + first_of_list + block.first_entry;
      kernels_.kept(job);
    }
  }
}

void PrunedConv::keep(float* oihw) const {
  // Kept values are moved out and back, so that no second tensor of weights is needed.
  std::vector<float> kept;
  for (const WeightBlocks& list : lists_.all())
    for (const std::uint32_t from : list.from) kept.push_back(oihw[from]);
  std::fill(oihw, oihw + shape_.w_elements(), 0.0F);
  std::size_t i = 0;
  for (const WeightBlocks& list : lists_.all())
    for (const std::uint32_t from : list.from) oihw[from] = kept[i++];
}

}  // namespace lacuna::kernels
