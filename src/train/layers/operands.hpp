// The operands that the products of a layer multiply, in place of its tensors where its rule says so.
#pragma once

#include <optional>

#include "train/layers/layer.hpp"
#include "train/sparsity/sparsify.hpp"

namespace lacuna::train {

// Room for the tensors of one layer at a time; the layers of a network share it.
struct OperandRoom {
  AlignedFloats activations, gradients;
};

class Operands {
 public:
  Operands(const OperandRule& rule, OperandRoom* room, int threads);

  // Operands of the forward pass. `weights` stays valid until the next forward pass, activations until
  // another layer asks for its own.
  const float* weights(const Parameter& weights);
  const float* forward_activations(const Activation& in);
  // Returns true if the forward product multiplies other activations than weight_grad.
  bool forward_differs() const { return rule_.changes_activations() && !rule_.forward_activations; }
  // Operands of the backward pass, valid until the next layer's. The gradient of the output is complete.
  void prepare(const Activation& in, const Activation& out);
  // Multiplies `gradients`, of which `nonzeros` are not zero, instead.
  void replace_gradients(const float* gradients, std::int64_t nonzeros, const Activation& out);
  float* room_for_gradients() { return room_->gradients.data(); }
  const float* activations() const { return activations_; }
  const float* gradients() const { return gradients_; }

  // Shares of zeros of the last prepare(); nothing where the tensors themselves are multiplied.
  std::optional<double> activation_zeros() const { return activation_zeros_; }
  std::optional<double> gradient_zeros() const { return gradient_zeros_; }
  // Returns the share of zeros in the weights as a forward pass would multiply them now.
  std::optional<double> weight_zeros(const Parameter& weights);

 private:
  std::int64_t keep(OperandRule::Among among, const Activation& like, const float* from, float* to) const;

  OperandRule rule_;
  OperandRoom* room_;
  int threads_;
  AlignedFloats weights_;
  std::int64_t weights_kept_ = 0;
  const float* activations_ = nullptr;
  const float* gradients_ = nullptr;
  std::optional<double> activation_zeros_, gradient_zeros_;
};

}  // namespace lacuna::train
