// The search with vectors of kVectorBytes bytes, which the including file defines: included once for each
// instruction set, with that set's compiler options.
#pragma once

#include <cstddef>
#include <cstring>

#include "range_search.hpp"

namespace lacuna::ant {
namespace {

using Lanes32 [[gnu::vector_size(kVectorBytes)]] = std::int32_t;
using Real32 [[gnu::vector_size(kVectorBytes)]] = float;
inline constexpr std::size_t kVectorLanes = kVectorBytes / 4;
inline constexpr std::size_t kStride = outer_product::KernelBatch::kLanes;  // between positions

[[gnu::always_inline]] inline void load(const std::int32_t* from, Lanes32& to) {
  std::memcpy(&to, from, sizeof(to));
}
inline void add_lanes(const Lanes32& from, std::int64_t* to) {
  for (std::size_t l = 0; l < kVectorLanes; ++l) to[l] += from[l];
}

// The rule of walk_range() (ant_counter.hpp) with arithmetic in place of its inner loops: the hits of a row
// are neighbours, positions a .. b-1 of the kernel's order. Quotients are exact for numerators below 2^18.
inline void search_lanes(std::span<const RangeVectors> ranges, const std::int32_t* starts, std::size_t width,
                         std::int32_t n, std::int32_t window, SearchSums& sums, std::size_t first) {
  const Lanes32 zero{}, one = zero + 1, all_n = zero + n, all_window = zero + window;
  const std::int32_t stride = n < window ? n : window;
  const Lanes32 all_stride = zero + stride;
  const Real32 half = Real32{} + 0.5F;
  const Real32 by_window = Real32{} + 1.0F / static_cast<float>(window);
  const Real32 by_stride = Real32{} + 1.0F / static_cast<float>(stride);
  Lanes32 sum_steps{}, sum_bubbles{}, sum_empty{}, sum_hits{}, sum_seen{}, sum_executed{};
  for (const RangeVectors& range : ranges) {
    const std::int32_t* begin = starts + width * kStride * range.r0;
    const std::int32_t* last = starts + width * kStride * range.r1;
    const std::size_t s0 = range.s0 * kStride, s1 = (range.s1 + std::size_t{1}) * kStride;
    Lanes32 p, end, a, b, hits{};
    load(begin, p);
    load(last + (width - 1) * kStride, end);
    for (const std::int32_t* row = begin; row <= last; row += width * kStride) {
      load(row + s0, a);
      load(row + s1, b);
      hits += b - a;
    }
    // One window sees all and one cycle issues it: the common case of a sparse kernel.
    const Lanes32 length = end - p;
    Lanes32 steps = hits > zero ? one : zero;
    Lanes32 bubbles = length > zero ? one - steps : zero;
    Lanes32 seen = length;
    const Lanes32 too_long = length > all_window ? one : zero;
    const Lanes32 longer = hits > all_n ? one : too_long;
    std::int64_t words[kVectorBytes / 8], any = 0;
    std::memcpy(words, &longer, sizeof(words));
    for (const std::int64_t word : words) any |= word;
    if (any != 0) {
      steps = bubbles = seen = zero;
      Lanes32 held{};  // hits issued from the window at p
      for (const std::int32_t* row = begin; row <= last; row += width * kStride) {
        load(row + s0, a);
        load(row + s1, b);
        // Windows that end before the next hit; the first of them may hold hits.
        const Lanes32 distance = a < b ? a - p : zero;
        const Lanes32 windows =
            __builtin_convertvector((__builtin_convertvector(distance, Real32) + half) * by_window, Lanes32);
        const Lanes32 some = held > zero ? one : zero;
        const Lanes32 ended = windows > zero ? some : zero;
        held = windows > zero ? zero : held;
        p += windows * window;
        steps += ended;
        bubbles += windows - ended;
        // Hits that the window at p still issues.
        const Lanes32 inside = (b < p + window ? b : p + window) - a, room = all_n - held;
        const Lanes32 most = room < inside ? room : inside;
        const Lanes32 taken = a < b ? most : zero;
        held += taken;
        a += taken;
        // The rest: that window is done, then cycles issue `stride` hits each, and the last hits are held.
        const Lanes32 behind = end - p;
        const Lanes32 seen_behind = behind < all_window ? behind : all_window;
        const Lanes32 more = a < b ? one : zero, rest = a < b ? b - a : one;
        const Lanes32 cycles =
            __builtin_convertvector((__builtin_convertvector(rest - 1, Real32) + half) * by_stride, Lanes32);
        const Lanes32 left = rest - cycles * stride;
        p = a < b ? a : p;
        held = a < b ? left : held;
        steps += more + cycles;
        seen += windows * window + (a < b ? seen_behind : zero);
        // Of those cycles `whole` see a window each; the last ones see what is left.
        const Lanes32 ahead = end - p;
        const Lanes32 beyond = ahead < all_window ? zero : ahead - window + stride;
        const Lanes32 full =
            __builtin_convertvector((__builtin_convertvector(beyond, Real32) + half) * by_stride, Lanes32);
        const Lanes32 whole = full < cycles ? full : cycles, cut = cycles - whole;
        seen += whole * window + cut * ahead - all_stride * (((whole + cycles - 1) * cut) >> 1);
        p += cycles * stride;
      }
      const Lanes32 held_some = held > zero ? one : zero, left = end - p;
      const Lanes32 seen_last = left < all_window ? left : all_window;
      const Lanes32 behind = left - held_some * window;
      const Lanes32 tail = behind > zero ? behind : zero;  // without a hit
      steps += held_some;
      seen += held_some * seen_last + tail;
      bubbles += __builtin_convertvector(
          (__builtin_convertvector(tail + (window - 1), Real32) + half) * by_window, Lanes32);
    }
    const Lanes32 vectors = zero + range.vectors;
    sum_steps += steps * vectors;
    sum_bubbles += bubbles * vectors;
    sum_empty += steps + bubbles == zero ? vectors : zero;
    sum_hits += hits * vectors;
    sum_seen += seen * vectors;
    sum_executed += hits * range.elements;
  }
  add_lanes(sum_steps, sums.steps.data() + first);
  add_lanes(sum_bubbles, sums.bubbles.data() + first);
  add_lanes(sum_empty, sums.empty.data() + first);
  add_lanes(sum_hits, sums.hits.data() + first);
  add_lanes(sum_seen, sums.seen.data() + first);
  add_lanes(sum_executed, sums.executed.data() + first);
}

inline void search(std::span<const RangeVectors> ranges, const outer_product::KernelBatch& batch,
                   std::int32_t n, std::int32_t window, SearchSums& sums) {
  const auto width = static_cast<std::size_t>(batch.cols) + 1;
  for (std::size_t first = 0; first < kStride; first += kVectorLanes)
    search_lanes(ranges, batch.starts.front().data() + first, width, n, window, sums, first);
}

}  // namespace
}  // namespace lacuna::ant
