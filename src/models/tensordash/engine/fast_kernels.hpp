// The inner loops of the fast engine. Each counts the cycles of every group of a block; all give the same
// numbers, which are those of run_lockstep().
#pragma once

#include <cstdint>

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

}  // namespace lacuna::tensordash
