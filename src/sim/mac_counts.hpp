// How many multiply-accumulates an operation has, and how many remain when zeros of one or both operands are
// left out. Counted from masks in closed form, without visiting pairs.
#pragma once

#include <cstdint>

#include "sim/operation.hpp"

namespace lacuna {

struct MacCounts {
  std::int64_t macs = 0;       // of the dense convolution, the same for the three operations
  std::int64_t with_text = 0;  // those whose first operand (operands(op).text) is not zero
  std::int64_t with_other = 0;
  std::int64_t effectual = 0;  // both operands are not zero

  std::int64_t with(TensorRole role, Operation op) const {
    return role == operands(op).text ? with_text : with_other;
  }
};

// A pair counts where the operation would multiply it: a border of zeros belongs to A in the forward product
// and in the weight gradient (the weight or gradient on the other side is multiplied), to G in the input
// gradient.
MacCounts count_macs(const Layer& layer, Operation op);

// Which operand to skip zeros of, if only one side can be.
enum class SchedulePolicy { kSparser, kText, kA, kW, kG };

// ASSUMPTION(A1): `sparser` takes the operand with the larger share of zeros, weights included; on a tie the
// operand of the text. A named operand that the operation does not have falls back to the text's.
TensorRole choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy);

}  // namespace lacuna
