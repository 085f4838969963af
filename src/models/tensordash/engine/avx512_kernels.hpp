// Interface of the files compiled for AVX-512. Pointers and numbers only, and nothing inline: an inline
// function that such a file compiles could be the copy that the linker keeps for the whole program, which
// would then need AVX-512 to start. Whether this CPU can run them is decided elsewhere (fast_kernels.cpp).
#pragma once

#include <cstdint>

namespace lacuna::tensordash {

// Row groups of a StreamBlock with four rows per group: group g starts at words + g * pitch.
struct PackedGroups {
  const std::uint16_t* words;
  std::int64_t pitch;
  std::int64_t steps;
  std::int64_t groups;
};

// Cycles of each group with the paper's connectivity of 16 lanes at a depth of 2 or 3. Null where the
// compiler has no AVX-512. Needs BW, DQ, VL and VBMI2.
using LockstepGroups = void (*)(const PackedGroups& groups, std::uint32_t* cycles);
extern const LockstepGroups kLockstepDepth2Avx512;
extern const LockstepGroups kLockstepDepth3Avx512;

// See fast_kernels.hpp. Null where the compiler has no AVX-512. Needs BW, VL, VBMI and GFNI.
using TransposeBits = void (*)(const std::uint8_t* const* rows, int bytes, std::uint16_t* out);
extern const TransposeBits kTransposeBitsAvx512;

}  // namespace lacuna::tensordash
