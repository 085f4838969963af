#include "train/sparsity/sparsify.hpp"

#include <algorithm>

namespace lacuna::train {
using Method = SparsifyOptions::Method;

// ASSUMPTION(T6): the authors' public code is dense for 2 of 90 epochs, then keeps ten points less in each
// until the ninth. Here the share falls in every step, and the first one has nothing to reuse.
double SparsifyOptions::reuse_density(std::int64_t step) const {
  const std::int64_t dense = std::max<std::int64_t>(1, warmup * 2 / 9);
  if (!reuses() || step < dense) return 1;
  if (step >= warmup) return density;
  const double done = static_cast<double>(step - dense + 1) / static_cast<double>(warmup - dense + 1);
  return 1 - (1 - density) * done;
}

// ASSUMPTION(T5): the first layer keeps all values of its operands: images have no zeros, and it is small.
OperandRule operand_rule(const SparsifyOptions& options, int bits, const LayerPosition& place) {
  using Among = OperandRule::Among;
  OperandRule rule;
  // Convolutions only, as in its authors' code; the first is one of them.
  rule.reuse = options.reuses() && !place.linear;
  if (place.initial) return rule;
  rule.density = options.density;
  // ASSUMPTION(T8): first and last layers keep their precision, as is usual.
  if (!place.last) rule.bits = bits;
  if (rule.bits > 0) rule.forward_activations = true;
  switch (options.method) {
    case Method::kNone:
    case Method::kReSprop:
      break;
    case Method::kSwat:
    case Method::kSwatReSprop:
      rule.weights = true;
      rule.activations = Among::kOfLayer;
      break;
    case Method::kTopK:
      rule.weights = true;
      rule.activations = Among::kOfSamples;
      rule.forward_activations = true;
      [[fallthrough]];
    case Method::kMeProp:
      // One logit of ten would keep its gradient, the label's; nothing would ever lower the others, and
      // training would diverge.
      if (!place.last) rule.gradients = Among::kOfSamples;
      break;
  }
  return rule;
}

}  // namespace lacuna::train
