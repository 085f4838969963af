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

}  // namespace lacuna::tensordash
