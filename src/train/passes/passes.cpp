#include "train/passes/passes.hpp"

namespace lacuna::train {

const Passes& passes(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return kAvx512Passes;
  if (isa == Isa::kAvx2) return kAvx2Passes;
#endif
  (void)isa;
  return kPortablePasses;
}

const Passes& passes() {
  static const Passes& best = passes(best_isa());
  return best;
}

}  // namespace lacuna::train
