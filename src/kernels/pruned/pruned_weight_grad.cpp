// The gradient of the non-zero weights alone.
#include <algorithm>
#include <omp.h>

#include "kernels/pruned/pruned_conv.hpp"

namespace lacuna::kernels {

void PrunedConv::weight_grad(const SparseRun& run) const {
  const auto groups = static_cast<std::int64_t>(geometry_.groups().size());
#pragma omp parallel num_threads(threads_)
  {
    // Groups of tiles are assigned round-robin and not to whichever thread is free, so that sums are
    // bit-reproducible.
    const auto thread = static_cast<std::int64_t>(omp_get_thread_num());
    const auto team = static_cast<std::int64_t>(omp_get_num_threads());
    for (std::int64_t t = thread; t < threads_; t += team) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(t)];
      std::fill(scratch.gradients.begin(), scratch.gradients.end(), 0.0F);
      const std::int64_t units = shape_.groups * groups;
      const auto unit_at = [&](std::int64_t i) {
        return Unit{i / groups, &geometry_.groups()[static_cast<std::size_t>(i % groups)], 0, 0};
      };
      if (t < units) {
        geometry_.input_offsets(*unit_at(t).tiles, scratch.inputs.slots, scratch.inputs.offsets);
        geometry_.result_offsets(*unit_at(t).tiles, scratch.results);
      }
      for (std::int64_t i = t; i < units; i += threads_) {
        const Unit next = unit_at(std::min(i + threads_, units - 1));
        add_gradients(run.checked, run.other, unit_at(i), i + threads_ < units ? &next : nullptr, scratch,
                      run.workspace + t * thread_floats());
        std::swap(scratch.inputs, scratch.next);
        std::swap(scratch.results, scratch.next_results);
      }
    }
  }
  const std::int64_t weights = shape_.w_elements();
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < weights; ++i) run.plain_out[i] = 0.0F;
  std::size_t first = 0;
  for (const WeightBlocks& list : lists_.all()) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t entry = first + static_cast<std::size_t>(i);
      float sum = 0;
      for (const Scratch& scratch : scratch_) sum += scratch.gradients[entry];
      run.plain_out[list.from[static_cast<std::size_t>(i)]] = sum;
    }
    first += list.entries.size();
  }
}

void PrunedConv::add_gradients(const float* src, const float* diff_dst, const Unit& unit, const Unit* next,
                               Scratch& scratch, float* workspace) const {
  const TileGroup& tiles = *unit.tiles;
  const std::int64_t g = unit.g;
  float* packed = workspace;
  float* gradients = workspace + input_floats();
  std::size_t first_of_list = 0;
  for (const WeightBlocks* list = lists_.all().data(); list != &lists_.of(g, tiles.phase); ++list)
    first_of_list += list->entries.size();
  const WeightBlocks& list = lists_.of(g, tiles.phase);
  const std::int64_t result_part = lists_.result_part();
  PackLanes pack{};
  pack.offsets = scratch.results.data();
  pack.slots = scratch.pixels.data();
  pack.count = tiles.rows * tiles.cols;
  pack.channel_floats = pack.count * kLanes;
  KeptRows job{};
  job.tile = tile_size(tiles);
  job.inputs = packed;
  if (next != nullptr) {
    geometry_.input_offsets(*next->tiles, scratch.next.slots, scratch.next.offsets);
    geometry_.result_offsets(*next->tiles, scratch.next_results);
  }
  LinesAhead read{};
  job.inputs_ahead = &read;
  for (std::int64_t begin = 0; begin < lists_.result_parts(); begin += unit_parts()) {
    const std::int64_t end = std::min(lists_.result_parts(), begin + unit_parts());
    const std::int64_t first = begin * result_part / kLanes;
    const std::int64_t blocks = std::min(end * result_part / kLanes, result_.blocks()) - first;
    for (std::int64_t b = 0; b < blocks; ++b) {
      pack.from = diff_dst + g * result_.group_floats() + (first + b) * result_.block_floats();
      pack.to = gradients + b * kLanes * pack.channel_floats;
      loops_.pack(pack);
    }
    for (std::int64_t i = 0; i < lists_.input_parts(); ++i) {
      pack_inputs(scratch.inputs, src + g * input_.group_floats(), i, packed);
      read = inputs_ahead(src, unit, next, scratch, i, blocks * kLanes);
      for (std::int64_t part = begin; part < end; ++part) {
        const WeightBlocks::Block& block = lists_.block(list, i, part);
        job.gradients = gradients + (part - begin) * result_part * pack.channel_floats;
        job.entries = list.entries.data() + block.first_entry;
        job.rows = list.rows.data() + block.first_row;
        job.row_count = block.rows;
        job.out = scratch.gradients.data() + first_of_list + block.first_entry;
        loops_.kept(job);
      }
    }
  }
}

void PrunedConv::keep_nonzero(float* plain) const {
  // Kept values are moved out and back, so that no second tensor of weights is needed.
  std::vector<float> kept;
  for (const WeightBlocks& list : lists_.all())
    for (const std::uint32_t from : list.from) kept.push_back(plain[from]);
  std::fill(plain, plain + shape_.w_elements(), 0.0F);
  std::size_t i = 0;
  for (const WeightBlocks& list : lists_.all())
    for (const std::uint32_t from : list.from) plain[from] = kept[i++];
}

}  // namespace lacuna::kernels
