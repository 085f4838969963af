// Number of multiply-accumulates of an operation, and of those that remain when zeros of one or both operands
// are left out. Counted from masks in closed form, without visiting pairs.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace lacuna {

struct MacCounts {
  std::int64_t macs = 0;          // of the dense convolution, the same for the three operations
  std::int64_t needed = 0;        // those whose result is needed: all of them (but see count_needed_macs)
  std::int64_t with_primary = 0;  // those whose first operand (operands(op).primary) is not zero
  std::int64_t with_secondary = 0;
  std::int64_t effectual = 0;  // both operands are not zero

  std::int64_t with(Operand role, Operation op) const {
    return role == operands(op).primary ? with_primary : with_secondary;
  }
  // Returns the MACs that remain if the zeros of `scheduled` are skipped.
  std::int64_t scheduled(ScheduledOperands scheduled, Operation op) const {
    const auto [primary, secondary] = operands(op);
    if (scheduled == ScheduledOperands::both()) return effectual;
    return scheduled.contains(primary)     ? with_primary
           : scheduled.contains(secondary) ? with_secondary
                                           : needed;
  }
};

// A pair counts where the operation would multiply it: a border of zeros belongs to A in the forward product
// and in the weight gradient (the weight or gradient on the other side is multiplied), to G in the input
// gradient.
MacCounts count_macs(const Layer& layer, Operation op);

}  // namespace lacuna
