// The first-n-in-range search over ranges of 16 kernels at once, compiled for each instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/outer_product/image_sets.hpp"

namespace lacuna::ant {

// Image vectors whose products lie in the same rectangle of kernel positions, both ends included.
struct RangeVectors {
  std::uint32_t r0, r1, s0, s1;
  std::int32_t vectors, elements;
};

// Sums over the vectors of a set, by lane.
struct SearchSums {
  using Lanes = std::array<std::int64_t, outer_product::KernelBatch::kLanes>;
  Lanes steps{}, bubbles{}, empty{}, hits{}, seen{}, executed{};
};

// Adds the search of all ranges to `sums`; sums of one call must fit 32 bits.
using RangeSearch = void (*)(std::span<const RangeVectors> ranges, const outer_product::KernelBatch& batch,
                             std::int32_t n, std::int32_t window, SearchSums& sums);
extern const RangeSearch kRangeSearchPortable, kRangeSearchAvx2, kRangeSearchAvx512;

}  // namespace lacuna::ant
