// Which operand's zeros a machine skips in an operation.
#pragma once

#include <array>
#include <string_view>

#include "tensor/operation.hpp"

namespace lacuna {

enum class Scheduled { kA, kW, kG, kBoth, kNone };

inline constexpr std::array kScheduled{Scheduled::kA, Scheduled::kW, Scheduled::kG, Scheduled::kBoth,
                                       Scheduled::kNone};

constexpr std::string_view scheduled_name(Scheduled scheduled) {
  switch (scheduled) {
    case Scheduled::kA:
      return "A";
    case Scheduled::kW:
      return "W";
    case Scheduled::kG:
      return "G";
    case Scheduled::kBoth:
      return "both";
    case Scheduled::kNone:
      return "none";
  }
  return "";
}

constexpr Scheduled scheduled_of(Operand role) {
  return role == Operand::kA ? Scheduled::kA : role == Operand::kW ? Scheduled::kW : Scheduled::kG;
}

}  // namespace lacuna
