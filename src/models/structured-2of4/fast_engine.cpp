// Groups of four in the masks of the pruned operand, 64 bits at a time.
#include <algorithm>
#include <bit>

#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "models/structured-2of4/engine.hpp"

namespace lacuna::structured_2of4 {
namespace {

constexpr std::uint64_t kFirst = 0x1111111111111111ULL;  // the first bit of each four

// Groups of four side by side: bit i of the four words belongs to the same group.
struct FourBits {
  std::uint64_t a, b, c, d;
};

// Counts the groups with three or four bits set; returns where they are.
std::uint64_t add_surplus(const FourBits& bits, PatternCounts& count) {
  const std::uint64_t four = bits.a & bits.b & bits.c & bits.d;
  const std::uint64_t more_than_two =
      (bits.a & bits.b & (bits.c | bits.d)) | (bits.c & bits.d & (bits.a | bits.b));
  count.violating += std::popcount(more_than_two);
  count.surplus += std::popcount(more_than_two) + std::popcount(four);
  return more_than_two;
}

// Lanes over channels: a word of lanes at a time.
PrunedWork count_along_channels(const PrunedSide& side) {
  const OperandStreams& streams = *side.streams;
  const std::int64_t steps = streams.steps();
  PrunedWork work;
  work.together.resize(static_cast<std::size_t>(side.grid.row_groups));
  std::vector<PatternCounts> counts(work.together.size());
  parallel_for(counts.size(), 16, [&](std::size_t group) {
    const std::int64_t first = static_cast<std::int64_t>(group) * side.together;
    const std::int64_t end = std::min(streams.count(), first + side.together);
    PatternCounts& count = counts[group];
    std::uint64_t violations = 0;  // of the stretch
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t stream = first; stream < end; ++stream) {
        const std::uint64_t word = streams.word(stream, step);
        violations |= add_surplus(
            {word & kFirst, (word >> 1) & kFirst, (word >> 2) & kFirst, (word >> 3) & kFirst}, count);
      }
      if ((step + 1) % kStretchSteps != 0) continue;
      if (violations != 0) ++work.together[group].dense_stretches;
      violations = 0;
    }
    work.together[group].fits = count.violating == 0;
  });
  for (const PatternCounts& count : counts) work.pattern += count;
  return work;
}

// Lanes over positions or images: 64 channels, which are as many streams, at a time.
class TransposedPattern {
 public:
  TransposedPattern(const PrunedSide& side)
      : s_(*side.streams),
        together_(side.together),
        over_positions_(s_.axis == LaneAxis::kPositions),
        elements_(over_positions_ ? s_.grid.h * s_.grid.w : s_.images),
        period_(ceil_div(elements_, s_.lanes)),
        marked_(static_cast<std::size_t>(side.grid.row_groups), -1),
        violations_(static_cast<std::size_t>(ceil_div(s_.channels, 64))) {
    work_.together.resize(marked_.size());
  }

  PrunedWork count() {
    const std::int64_t steps = s_.steps();
    const std::int64_t runs = over_positions_ ? static_cast<std::int64_t>(s_.taps.size()) : 1;
    for (const std::int64_t stretch : in_steps(ceil_div(steps, kStretchSteps))) {
      const std::int64_t first = stretch * kStretchSteps;
      const std::int64_t end = std::min(steps, first + kStretchSteps);
      for (std::int64_t run = 0; run < runs; ++run) {
        std::ranges::fill(violations_, 0);
        for (std::int64_t step = first; step < end; ++step) {
          for (int lane = 0; lane < s_.lanes; lane += kGroup) count_group(run, step, lane);
        }
        mark(run, first, end - first == kStretchSteps);
      }
    }
    return std::move(work_);
  }

 private:
  static constexpr std::int64_t kZeros = -1;

  // The row of the mask under a lane.
  std::int64_t row_of(std::int64_t run, std::int64_t step, std::int64_t lane) const {
    const std::int64_t element = step % period_ * s_.lanes + lane;
    if (element >= elements_) return kZeros;
    const std::int64_t outer = step / period_;
    const std::int64_t row = over_positions_
                                 ? s_.source_row(outer, element, s_.taps[static_cast<std::size_t>(run)])
                                 : s_.source_row(element, 0, s_.taps[static_cast<std::size_t>(outer)]);
    return row < 0 ? kZeros : row;
  }

  void count_group(std::int64_t run, std::int64_t step, int lane) {
    std::int64_t rows[kGroup];
    for (int i = 0; i < kGroup; ++i) rows[i] = row_of(run, step, lane + i);
    for (std::size_t i = 0; i < violations_.size(); ++i) {
      const std::int64_t channel = 64 * static_cast<std::int64_t>(i);
      const std::int64_t count = std::min<std::int64_t>(64, s_.channels - channel);
      const auto bits = [&](std::int64_t row) {
        return row == kZeros ? 0 : s_.mask.bits(row, s_.channel0 + channel, count);
      };
      violations_[i] |=
          add_surplus({bits(rows[0]), bits(rows[1]), bits(rows[2]), bits(rows[3])}, work_.pattern);
    }
  }

  // The streams that work together with one that does not fit run the stretch densely.
  void mark(std::int64_t run, std::int64_t stretch, bool whole) {
    for (std::size_t i = 0; i < violations_.size(); ++i) {
      for (std::uint64_t left = violations_[i]; left != 0; left &= left - 1) {
        const std::int64_t channel = 64 * static_cast<std::int64_t>(i) + std::countr_zero(left);
        const auto group = static_cast<std::size_t>((run * s_.channels + channel) / together_);
        if (marked_[group] == stretch) continue;
        marked_[group] = stretch;
        work_.together[group].fits = false;
        if (whole) ++work_.together[group].dense_stretches;
      }
    }
  }

  const OperandStreams& s_;
  std::int64_t together_;
  bool over_positions_;
  std::int64_t elements_, period_;
  std::vector<std::int64_t> marked_;       // the stretch that was counted last, by group of streams
  std::vector<std::uint64_t> violations_;  // of this stretch, a bit per channel
  PrunedWork work_;
};

}  // namespace

PrunedWork count_pattern(const PrunedSide& side) {
  const OperandStreams& streams = *side.streams;
  PrunedWork work =
      streams.axis == LaneAxis::kChannels ? count_along_channels(side) : TransposedPattern(side).count();
  work.pattern.groups = count_groups(streams);
  return work;
}

}  // namespace lacuna::structured_2of4
