// The three products of training, and the words results use for them (docs/notation.md).
#pragma once

#include <array>
#include <string_view>

#include "trace/trace.hpp"

namespace lacuna {

enum class Operation {
  kForward,     // A*W: outputs
  kInputGrad,   // W*G: gradients of the inputs
  kWeightGrad,  // A*G: gradients of the weights
};

inline constexpr std::array kOperations{Operation::kForward, Operation::kInputGrad, Operation::kWeightGrad};

constexpr std::string_view operation_name(Operation op) {
  switch (op) {
    case Operation::kForward:
      return "forward";
    case Operation::kInputGrad:
      return "input_grad";
    case Operation::kWeightGrad:
      return "weight_grad";
  }
  return "";
}

// The two operands of an operation, first the one TensorDash's text schedules [TensorDash §2]: activations in
// A*W, gradients in W*G; in A*G whichever has more zeros, G on a tie.
struct OperandPair {
  TensorRole text;
  TensorRole other;
};

constexpr OperandPair operands(Operation op) {
  switch (op) {
    case Operation::kForward:
      return {TensorRole::kA, TensorRole::kW};
    case Operation::kInputGrad:
      return {TensorRole::kG, TensorRole::kW};
    case Operation::kWeightGrad:
      return {TensorRole::kG, TensorRole::kA};
  }
  return {TensorRole::kA, TensorRole::kW};
}

// Which operand's zeros a machine skips in an operation.
enum class Scheduled { kA, kW, kG, kBoth, kNone };

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

constexpr Scheduled scheduled_of(TensorRole role) {
  return role == TensorRole::kA ? Scheduled::kA : role == TensorRole::kW ? Scheduled::kW : Scheduled::kG;
}

}  // namespace lacuna
