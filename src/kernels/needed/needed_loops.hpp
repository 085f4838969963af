// The innermost loops of input gradients that are computed only where the input is not zero, one table of
// them per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

// Lists of results are filled up to a multiple of this with slot 0.
inline constexpr int kResultGroup = 8;

// A row of pixels of 16 channels: the slots of those that are not zero are appended to the list of each
// channel, which has room for 16 more than the pixels of a tile.
struct NeededRow {
  const float* src;
  std::ptrdiff_t src_step;  // floats from a pixel to the next
  std::int64_t width;
  std::uint16_t first_slot;
  std::uint16_t* slots;  // [16][stride]
  std::ptrdiff_t stride;
  std::int32_t* counts;  // [16]
};

// Results of one channel of a tile: sums[i] = the sum over taps of the products of weights[tap] and the slot
// that lies taps[tap] floats behind slots[i].
struct NeededDots {
  const std::uint16_t* slots;
  std::int64_t count;  // to be rounded up to kResultGroup
  const float* tile;   // [slot][slot_floats]
  std::ptrdiff_t slot_floats;
  const std::ptrdiff_t* taps;
  std::int64_t tap_count;
  const float* weights;  // [tap][slot_floats]
  float* sums;           // room for kResultGroup more
};

struct NeededLoops {
  const char* isa;
  void (*list)(const NeededRow& row);
  void (*dots)(const NeededDots& dots);
};

extern const NeededLoops kPortableNeededLoops;
#if defined(__x86_64__)
extern const NeededLoops kAvx2NeededLoops;
extern const NeededLoops kAvx512NeededLoops;
#endif

}  // namespace lacuna::kernels
