// The three tensors of a layer and the three products of training: the vocabulary of results
// (docs/notation.md) and of the whole code.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace lacuna {

// One value per enumerator of `Key`, an enum of 0, 1, 2. An aggregate: PerOperation<bool>{true, true, false}.
template <typename Key, typename T>
struct PerKey {
  std::array<T, 3> values;

  constexpr T& operator[](Key key) { return values[static_cast<std::size_t>(key)]; }
  constexpr const T& operator[](Key key) const { return values[static_cast<std::size_t>(key)]; }
  constexpr auto begin() { return values.begin(); }
  constexpr auto end() { return values.end(); }
  constexpr auto begin() const { return values.begin(); }
  constexpr auto end() const { return values.end(); }
  friend constexpr bool operator==(const PerKey&, const PerKey&) = default;
};

// Input activations, weights, gradients of the outputs.
enum class Operand { kA, kW, kG };
inline constexpr std::array kOperands{Operand::kA, Operand::kW, Operand::kG};
template <typename T>
using PerOperand = PerKey<Operand, T>;

constexpr std::string_view operand_name(Operand operand) {
  return PerOperand<std::string_view>{"A", "W", "G"}[operand];
}

enum class Operation {
  kForward,     // A*W: outputs
  kInputGrad,   // W*G: gradients of the inputs
  kWeightGrad,  // A*G: gradients of the weights
};
inline constexpr std::array kOperations{Operation::kForward, Operation::kInputGrad, Operation::kWeightGrad};
template <typename T>
using PerOperation = PerKey<Operation, T>;

constexpr std::string_view operation_name(Operation op) {
  return PerOperation<std::string_view>{"forward", "input_grad", "weight_grad"}[op];
}

// Returns true if training runs `op` in the layer at `layer_index` of a trace. The first layer has no input
// gradient: its input is the images, which nobody trains. A public simulator by a co-author of TensorDash
// leaves it out too (tests/data/README.md).
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
  return PerOperation<OperandPair>{OperandPair{Operand::kA, Operand::kW},
                                   OperandPair{Operand::kG, Operand::kW},
                                   OperandPair{Operand::kG, Operand::kA}}[op];
}

// The operands whose zeros a machine skips in an operation: none, one of them or both.
class ScheduledOperands {
 public:
  constexpr ScheduledOperands() = default;                 // none
  constexpr ScheduledOperands(Operand one) : one_(one) {}  // NOLINT(google-explicit-constructor)
  static constexpr ScheduledOperands both() {
    ScheduledOperands both;
    both.both_ = true;
    return both;
  }

  constexpr bool contains(Operand operand) const { return both_ || one_ == operand; }

  friend constexpr bool operator==(const ScheduledOperands&, const ScheduledOperands&) = default;
  friend constexpr std::string_view scheduled_name(ScheduledOperands scheduled);

 private:
  std::optional<Operand> one_;
  bool both_ = false;
};
constexpr std::string_view scheduled_name(ScheduledOperands scheduled) {
  return scheduled.both_ ? "both" : scheduled.one_ ? operand_name(*scheduled.one_) : "none";
}
inline constexpr std::array<ScheduledOperands, 5> kScheduledOperands{
    Operand::kA, Operand::kW, Operand::kG, ScheduledOperands::both(), ScheduledOperands()};

}  // namespace lacuna
