// The inner loops of the fast engine. Each counts the cycles of every group of a block; all give the same
// numbers, which are those of run_lockstep().
#pragma once

#include <cstdint>

#include "models/tensordash/engine/avx512_kernels.hpp"
#include "models/tensordash/engine/stream_block.hpp"
#include "models/tensordash/scheduler.hpp"

namespace lacuna::tensordash {

// Any connectivity of 16 lanes, on any CPU.
void lockstep_cycles_generic(const Connectivity& connectivity, const StreamBlock& block,
                             std::uint32_t* cycles);

// The paper's connectivity (depth 2 or 3) with four rows per group: AVX-512. False, with nothing done, for
// another configuration and where the CPU or the build has no AVX-512.
bool lockstep_cycles_avx512(const Connectivity& connectivity, const StreamBlock& block,
                            std::uint32_t* cycles);

// Turns sixteen rows of mask bits into one 16-bit element per channel, as the transposers of the chip do it
// with values [TensorDash §3.4]: out[c] bit r = bit c of rows[r], for c in [0, 8 * bytes). Reads `bytes`
// (1..8) bytes of each row.
void transpose_bits_portable(const std::uint8_t* const* rows, int bytes, std::uint16_t* out);

// The fastest that this CPU can run.
TransposeBits best_transpose_bits();

}  // namespace lacuna::tensordash
