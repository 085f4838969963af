// The choice of the one operand whose zeros a one-side machine skips.
#pragma once

#include <string_view>
#include <variant>

#include "trace/trace.hpp"

namespace lacuna {

// The rule, or the same operand everywhere.
enum class OperandRule { kSparser, kPrimary };
using SchedulePolicy = std::variant<OperandRule, Operand>;

// ASSUMPTION(A1): `sparser` takes the operand with the larger share of zeros, weights included; on a tie the
// primary operand. An operand that the operation does not have falls back to the primary one.
Operand choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy);

inline constexpr std::array<std::string_view, 5> kSchedulePolicies{"sparser", "primary", "A", "W", "G"};
// One of them by name; throws std::invalid_argument for anything else.
SchedulePolicy schedule_policy(std::string_view name);

}  // namespace lacuna
