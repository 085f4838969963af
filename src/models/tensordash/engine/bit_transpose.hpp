// Sixteen rows of mask bits turned into one 16-bit element a channel: what the transposers of the chip do for
// values [TensorDash §3.4], done here for effectual bits.
#pragma once

#include <cstdint>

namespace lacuna::tensordash {

// out[c] bit r = bit c of rows[r], for c in [0, 8 * bytes); reads `bytes` (1..8) bytes of each row.
using TransposeBits = void (*)(const std::uint8_t* const* rows, int bytes, std::uint16_t* out);

void transpose_bits_portable(const std::uint8_t* const* rows, int bytes, std::uint16_t* out);
// Null where the CPU or the build has no AVX-512 with GFNI and VBMI.
TransposeBits transpose_bits_avx512();

inline TransposeBits best_transpose_bits() {
  const TransposeBits fast = transpose_bits_avx512();
  return fast != nullptr ? fast : transpose_bits_portable;
}

}  // namespace lacuna::tensordash
