// Decides whether the AVX-512 kernel can count a block. Compiled for any CPU, as is everything else the
// decision needs.
#include "models/tensordash/engine/fast_kernels.hpp"

#include "base/cpu.hpp"
#include "models/tensordash/engine/avx512_kernels.hpp"

namespace lacuna::tensordash {
namespace {

// The kernel for this connectivity; null if it is not the paper's.
LockstepGroups kernel_for(const Connectivity& connectivity) {
  static const Connectivity paper2 = Connectivity::parse("paper", StreamBlock::kLanes, 2, "");
  static const Connectivity paper3 = Connectivity::parse("paper", StreamBlock::kLanes, 3, "");
  if (connectivity.lanes() != StreamBlock::kLanes) return nullptr;
  const auto is = [&](const Connectivity& paper) {
    return connectivity.depth() == paper.depth() && connectivity.movements() == paper.movements();
  };
  return is(paper3) ? kLockstepDepth3Avx512 : is(paper2) ? kLockstepDepth2Avx512 : nullptr;
}

// The 8x8 bit matrix with row r in byte r, transposed (three rounds of block swaps).
std::uint64_t transpose8x8(std::uint64_t x) {
  std::uint64_t swap = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
  x ^= swap ^ (swap << 7);
  swap = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
  x ^= swap ^ (swap << 14);
  swap = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
  return x ^ swap ^ (swap << 28);
}

}  // namespace

bool lockstep_cycles_avx512(const Connectivity& connectivity, const StreamBlock& block,
                            std::uint32_t* cycles) {
  constexpr std::int64_t kRowsPerGroup = 4;
  if (!cpu_features().avx512_vbmi2 || block.slots() != kRowsPerGroup) return false;
  const LockstepGroups kernel = kernel_for(connectivity);
  if (kernel == nullptr) return false;
  kernel({block.group(0), block.pitch(), block.steps(), block.groups()}, cycles);
  return true;
}

void transpose_bits_portable(const std::uint8_t* const* rows, int bytes, std::uint16_t* out) {
  for (int b = 0; b < bytes; ++b) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (int r = 0; r < 8; ++r) {
      low |= static_cast<std::uint64_t>(rows[r][b]) << (8 * r);
      high |= static_cast<std::uint64_t>(rows[r + 8][b]) << (8 * r);
    }
    low = transpose8x8(low);
    high = transpose8x8(high);
    for (int c = 0; c < 8; ++c) {
      out[8 * b + c] =
          static_cast<std::uint16_t>(((low >> (8 * c)) & 0xff) | (((high >> (8 * c)) & 0xff) << 8));
    }
  }
}

TransposeBits best_transpose_bits() {
  if (kTransposeBitsAvx512 != nullptr && cpu_features().avx512_vbmi && cpu_features().gfni)
    return kTransposeBitsAvx512;
  return transpose_bits_portable;
}

}  // namespace lacuna::tensordash
