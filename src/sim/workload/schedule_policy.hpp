// Which operand to skip the zeros of, if only one side can be.
#pragma once

#include <string_view>

#include "trace/trace.hpp"

namespace lacuna {

enum class SchedulePolicy { kSparser, kPrimary, kA, kW, kG };

// ASSUMPTION(A1): `sparser` takes the operand with the larger share of zeros, weights included; on a tie the
// primary operand. A named operand that the operation does not have falls back to the primary one.
Operand choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy);

// "sparser", "primary", "A", "W" or "G"; throws std::invalid_argument for anything else.
SchedulePolicy schedule_policy(std::string_view name);

}  // namespace lacuna
