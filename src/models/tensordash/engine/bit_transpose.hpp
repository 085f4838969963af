// Sixteen rows of mask bits turned into one 16-bit element per channel: what the transposers of the chip do
// for values [TensorDash §3.4], done here for effectual bits.
#pragma once

#include <cstdint>

#include "models/tensordash/engine/avx512_kernels.hpp"

namespace lacuna::tensordash {

// out[c] bit r = bit c of rows[r], for c in [0, 8 * bytes); reads `bytes` (1..8) bytes of each row.
void transpose_bits_portable(const std::uint8_t* const* rows, int bytes, std::uint16_t* out);

// The fastest that this CPU can run.
TransposeBits best_transpose_bits();

}  // namespace lacuna::tensordash
