// The three products of training, and the words results use for them (docs/notation.md).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace lacuna {

// The three tensors of a layer: input activations, weights, gradients of the outputs.
enum class Operand { kA, kW, kG };
inline constexpr std::array kOperands{Operand::kA, Operand::kW, Operand::kG};

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

// Whether training runs `op` in the layer at `layer_index` of a trace. The first layer has no input gradient:
// its input is the images, which nobody trains. A public simulator by a co-author of TensorDash leaves it out
// too (tests/data/README.md).
constexpr bool has_operation(std::size_t layer_index, Operation op) {
  return layer_index > 0 || op != Operation::kInputGrad;
}

// The two operands of an operation. `primary` is the one whose zeros TensorDash skips according to its text
// [TensorDash §2]: activations in A*W, gradients in W*G; in A*G the paper takes whichever has more zeros, and
// G is primary.
struct OperandPair {
  Operand primary;
  Operand secondary;
};

constexpr OperandPair operands(Operation op) {
  switch (op) {
    case Operation::kForward:
      return {Operand::kA, Operand::kW};
    case Operation::kInputGrad:
      return {Operand::kG, Operand::kW};
    case Operation::kWeightGrad:
      return {Operand::kG, Operand::kA};
  }
  return {Operand::kA, Operand::kW};
}

}  // namespace lacuna
