#include "models/tensordash/storage/storage_footprint.hpp"

#include <algorithm>
#include <bit>

#include "base/ceil_div.hpp"
#include "base/parallel.hpp"

namespace lacuna::tensordash {
namespace {

// The effectual bits of a step.
std::uint64_t step_word(const MaskView& mask, const GroupStep& step) {
  const std::uint8_t* row = mask.row(step.row);
  const std::int64_t byte = step.channel / 8;
  const auto shift = static_cast<int>(step.channel % 8);
  if (shift == 0 && step.lanes == 16) {
    std::uint16_t word;
    std::memcpy(&word, row + byte, 2);
    return word;
  }
  const std::int64_t end = std::min(mask.readable_bytes(), (step.channel + step.lanes + 7) / 8);
  std::uint64_t word = 0;
  for (std::int64_t b = byte; b < end; ++b) {
    const auto place = static_cast<int>(b - byte) * 8 - shift;
    word |= place < 0 ? std::uint64_t{row[b]} >> -place : place < 64 ? std::uint64_t{row[b]} << place : 0;
  }
  return word & low_bits(step.lanes);
}

// Schedules every group. Groups are independent: blocks of them go to threads.
void count_groups(const TensorGroups& groups, const MaskView& mask, const LaneSelector& selector,
                  StorageCounts& counts) {
  constexpr std::int64_t kStepsPerBlock = 1 << 14;
  const std::int64_t block_groups = std::max<std::int64_t>(1, kStepsPerBlock / groups.longest());
  const std::int64_t blocks = ceil_div(groups.count(), block_groups);
  std::vector<StorageCounts> parts(static_cast<std::size_t>(blocks));
  parallel_for(parts.size(), 1, [&](std::size_t b) {
    StorageCounts part;
    std::vector<GroupStep> steps;
    std::vector<std::uint64_t> words;
    std::vector<std::int32_t> lanes;
    const std::int64_t first = static_cast<std::int64_t>(b) * block_groups;
    for (std::int64_t g = first; g < std::min(groups.count(), first + block_groups); ++g) {
      groups.steps(g, steps);
      words.assign(steps.size() + static_cast<std::size_t>(selector.depth()), 0);
      lanes.resize(steps.size());
      for (std::size_t s = 0; s < steps.size(); ++s) {
        words[s] = step_word(mask, steps[s]);
        lanes[s] = steps[s].lanes;
      }
      const RowCount rows = count_rows(selector, words, lanes);
      part.steps += static_cast<std::int64_t>(steps.size());
      part.rows += rows.rows;
      part.slots += rows.slots;
    }
    parts[b] = part;
  });
  for (const StorageCounts& part : parts) counts += part;
}

// Pairs (zeros before it, value), over the tensor in the order it is recorded in. A run that its field cannot
// hold, and the zeros at the end, take pairs whose value is a zero [TensorDash §3.6 names the technique].
std::int64_t count_run_entries(const MaskView& mask, int run_bits) {
  const std::int64_t longest = std::int64_t{1} << run_bits;  // zeros that a pair with a zero value stands for
  std::int64_t entries = 0;
  std::int64_t gap = 0;
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    for (std::int64_t channel = 0; channel < mask.channels; channel += 64) {
      const auto lanes = static_cast<std::int32_t>(std::min<std::int64_t>(64, mask.channels - channel));
      std::uint64_t word = 0;
      if (lanes == 64) {
        std::memcpy(&word, mask.row(row) + channel / 8, 8);
      } else {
        word = step_word(mask, {row, channel, lanes});
      }
      std::int64_t at = 0;  // bits of the word that are dealt with
      for (; word != 0; word &= word - 1) {
        const int bit = std::countr_zero(word);
        gap += bit - at;
        entries += 1 + (gap < longest ? 0 : gap >> run_bits);
        gap = 0;
        at = bit + 1;
      }
      gap += lanes - at;
    }
  }
  return entries + ceil_div(gap, longest);
}

}  // namespace

StorageBits storage_bits(const StorageCounts& counts, FormBits form, int value_bits,
                         const StorageParams& params) {
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  StorageBits bits;
  bits.dense = real(counts.elements * value_bits);
  bits.scheduled = real(counts.slots * (value_bits + form.move) + counts.rows * form.advance);
  bits.pointers = real(counts.groups * params.pointer_bits);
  bits.scheduled_pointers = bits.scheduled + bits.pointers;
  bits.worst_case = real(counts.elements * (value_bits + form.move) + counts.steps * form.advance);
  bits.run_length = real(counts.run_entries * (value_bits + params.run_bits));
  bits.bitmap = real(counts.elements + counts.nonzeros * value_bits);
  bits.csr = real(counts.nonzeros * value_bits + counts.csr_index_bits +
                  (counts.csr_rows + 1) * params.pointer_bits);
  return bits;
}

StorageCounts count_storage(const LayerShape& shape, Operand role, const MaskView& mask,
                            const LaneSelector& selector, const StorageParams& params) {
  const TensorGroups groups(shape, role, params.grouping, selector.lanes());
  StorageCounts counts;
  counts.elements = mask.rows * mask.channels;
  counts.nonzeros = count_nonzeros(mask);
  counts.groups = groups.count();
  counts.csr_rows = mask.rows;
  counts.csr_index_bits = counts.nonzeros * std::bit_width(static_cast<std::uint64_t>(mask.channels - 1));
  if (counts.nonzeros == counts.elements) {
    // Without zeros nothing moves: one row per step. Such a tensor is not visited, since one that a file does
    // not record may be a few words in its header and 2^40 elements.
    counts.steps = counts.rows = groups.all_steps();
    counts.slots = counts.run_entries = counts.elements;
    return counts;
  }
  counts.run_entries = count_run_entries(mask, params.run_bits);
  count_groups(groups, mask, selector, counts);
  return counts;
}

}  // namespace lacuna::tensordash
