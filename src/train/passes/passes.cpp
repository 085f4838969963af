#include "train/passes/passes.hpp"

namespace lacuna::train {

const Passes& passes(Isa isa) { return LACUNA_OF_ISA(isa, kPortablePasses, kAvx2Passes, kAvx512Passes); }

const Passes& passes() {
  static const Passes& best = passes(best_isa());
  return best;
}

}  // namespace lacuna::train
