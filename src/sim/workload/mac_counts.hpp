// How many multiply-accumulates an operation has, and how many remain when zeros of one or both operands are
// left out. Counted from masks in closed form, without visiting pairs.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace lacuna {

struct MacCounts {
  std::int64_t macs = 0;          // of the dense convolution, the same for the three operations
  std::int64_t with_primary = 0;  // those whose first operand (operands(op).primary) is not zero
  std::int64_t with_secondary = 0;
  std::int64_t effectual = 0;  // both operands are not zero

  std::int64_t with(TensorRole role, Operation op) const {
    return role == operands(op).primary ? with_primary : with_secondary;
  }
};

// A pair counts where the operation would multiply it: a border of zeros belongs to A in the forward product
// and in the weight gradient (the weight or gradient on the other side is multiplied), to G in the input
// gradient.
MacCounts count_macs(const Layer& layer, Operation op);

// Which operand to skip zeros of, if only one side can be.
enum class SchedulePolicy { kSparser, kPrimary, kA, kW, kG };

// ASSUMPTION(A1): `sparser` takes the operand with the larger share of zeros, weights included; on a tie the
// primary operand. A named operand that the operation does not have falls back to the primary one.
TensorRole choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy);

}  // namespace lacuna
