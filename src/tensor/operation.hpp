// The three products of training, and the words results use for them (docs/notation.md).
#pragma once

#include <array>
#include <string_view>

namespace lacuna {

// The three tensors of a layer: input activations, weights, gradients of the outputs.
enum class TensorRole { kA, kW, kG };

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

// The two operands of an operation. `primary` is the one whose zeros TensorDash's text skips [TensorDash §2]:
// activations in A*W, gradients in W*G; in A*G the paper takes whichever has more zeros, and G is primary.
struct OperandPair {
  TensorRole primary;
  TensorRole secondary;
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
