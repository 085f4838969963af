#include "kernels/pruned/weight_lists.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

std::int64_t count_nonzeros(const float* data, std::int64_t count, int threads) {
  std::int64_t nonzeros = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : nonzeros) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) nonzeros += data[i] != 0.0F ? 1 : 0;
  return nonzeros;
}

}  // namespace

WeightLists::WeightLists(const LayerShape& shape, Operation op, const PrunedGeometry& geometry,
                         std::int64_t l1_bytes, int threads)
    : shape_(shape),
      forward_(op != Operation::kInputGrad),
      geometry_(&geometry),
      l1_bytes_(l1_bytes),
      threads_(threads),
      phases_(static_cast<std::int64_t>(geometry.phases().size())) {
  input_channels_ = forward_ ? shape.c_per_group() : shape.k_per_group();
  result_real_ = forward_ ? shape.k_per_group() : shape.c_per_group();
  result_channels_ = round_up(result_real_, kLanes);
  result_part_ = std::min<std::int64_t>(result_channels_, 64);
}

bool WeightLists::update(const float* oihw) {
  if (nonzeros_ >= 0 && refresh(oihw)) return true;
  rebuild(oihw);
  return false;
}

// The pattern is the same if there are as many non-zeros as before and all the old places have one.
bool WeightLists::refresh(const float* oihw) {
  if (count_nonzeros(oihw, shape_.w_elements(), threads_) != nonzeros_) return false;
  bool kept = true;
  for (WeightBlocks& list : lists_) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
    WeightEntry* entries = list.entries.data();
    const std::uint32_t* from = list.from.data();
#pragma omp parallel for num_threads(threads_) reduction(&& : kept) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      entries[i].value = oihw[from[i]];
      kept = kept && entries[i].value != 0.0F;
    }
  }
  return kept;
}

void WeightLists::replace_values(const float* oihw) {
  for (WeightBlocks& list : lists_) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
    WeightEntry* entries = list.entries.data();
    const std::uint32_t* from = list.from.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) entries[i].value = oihw[from[i]];
  }
}

void WeightLists::rebuild(const float* oihw) {
  nonzeros_ = count_nonzeros(oihw, shape_.w_elements(), threads_);
  // Inputs of a part should stay in L1; but a row of fewer than ten non-zeros spends its time on its ends.
  const double share = static_cast<double>(nonzeros_) / static_cast<double>(shape_.w_elements());
  const auto taps = static_cast<double>(geometry_->flat() ? 1 : shape_.taps());
  const double in_l1 = static_cast<double>(l1_bytes_) * (geometry_->flat() ? 1.2 : 0.8) /
                       static_cast<double>(geometry_->used_slots() * kLanes) / sizeof(float);
  const double wanted = std::max(in_l1, 10.0 / std::max(share * taps, 1e-3));
  const std::int64_t blocks = (input_channels_ + kLanes - 1) / kLanes;
  const std::int64_t part = std::clamp<std::int64_t>(std::llround(wanted / kLanes), 1, blocks);
  const std::int64_t parts = (blocks + part - 1) / part;
  input_part_ = (blocks + parts - 1) / parts * kLanes;
  lists_.resize(static_cast<std::size_t>(shape_.groups * phases_));
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::int64_t i = 0; i < shape_.groups * phases_; ++i)
    build(oihw, i / phases_, geometry_->phases()[static_cast<std::size_t>(i % phases_)],
          lists_[static_cast<std::size_t>(i)]);
}

void WeightLists::build(const float* oihw, std::int64_t group, const PrunedPhase& phase,
                        WeightBlocks& to) const {
  to.entries.clear();
  to.from.clear();
  to.rows.clear();
  to.blocks.clear();
  const std::int64_t taps = shape_.taps();
  const std::int64_t first = group * shape_.k_per_group() * shape_.c_per_group();
  const std::int64_t input_step = forward_ ? taps : shape_.c_per_group() * taps;
  const std::int64_t result_step = forward_ ? shape_.c_per_group() * taps : taps;
  struct Found {
    std::int64_t channel, begin, count;
  };
  std::vector<Found> found;
  std::vector<WeightEntry> entries;
  std::vector<std::uint32_t> from;
  for (std::int64_t c0 = 0; c0 < input_channels_; c0 += input_part_)
    for (std::int64_t k0 = 0; k0 < result_channels_; k0 += result_part_) {
      const std::int64_t k1 = std::min(result_channels_, k0 + result_part_);
      const std::int64_t c1 = std::min(input_channels_, c0 + input_part_);
      found.clear();
      entries.clear();
      from.clear();
      for (std::int64_t k = k0; k < k1; ++k) {
        const auto begin = static_cast<std::int64_t>(entries.size());
        for (std::int64_t c = c0; c < c1 && k < result_real_; ++c) {
          const std::int64_t at = first * taps + k * result_step + c * input_step;
          for (const PrunedTap& tap : phase.taps) {
            const float value = oihw[at + tap.tap];
            if (value == 0.0F) continue;
            const std::int64_t slot = (c - c0) * geometry_->slots() + tap.slot;
            entries.push_back(
                {static_cast<std::uint32_t>(slot * kLanes * static_cast<std::int64_t>(sizeof(float))),
                 value});
            from.push_back(static_cast<std::uint32_t>(at + tap.tap));
          }
        }
        const auto count = static_cast<std::int64_t>(entries.size()) - begin;
        // The first part of the inputs starts the sums, even if it has no non-zeros.
        if (count > 0 || c0 == 0) found.push_back({k - k0, begin, count});
      }
      std::stable_sort(found.begin(), found.end(),
                       [](const Found& a, const Found& b) { return a.count < b.count; });
      to.blocks.push_back({static_cast<std::uint32_t>(to.entries.size()),
                           static_cast<std::uint32_t>(to.rows.size()),
                           static_cast<std::uint32_t>(found.size())});
      for (const Found& row : found) {
        to.rows.push_back({static_cast<std::uint32_t>(row.channel), static_cast<std::uint32_t>(row.count)});
        to.entries.insert(to.entries.end(), entries.begin() + row.begin,
                          entries.begin() + row.begin + row.count);
        to.from.insert(to.from.end(), from.begin() + row.begin, from.begin() + row.begin + row.count);
      }
    }
}

}  // namespace lacuna::kernels
