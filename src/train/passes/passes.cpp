#include "train/passes/passes.hpp"

namespace lacuna::train {

const Passes& passes(kernels::Isa isa) {
#if defined(LACUNA_X86)
  if (isa == kernels::Isa::kAvx512) return kAvx512Passes;
  if (isa == kernels::Isa::kAvx2) return kAvx2Passes;
#endif
  (void)isa;
  return kPortablePasses;
}

const Passes& passes() {
  static const Passes& best = passes(kernels::best_isa());
  return best;
}

}  // namespace lacuna::train
