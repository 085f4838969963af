#include "train/layers/operands.hpp"

#include "train/sparsity/quantize.hpp"
#include "train/sparsity/topk.hpp"

namespace lacuna::train {
namespace {

double share_of_zeros(std::int64_t nonzeros, std::int64_t all) {
  return 1 - static_cast<double>(nonzeros) / static_cast<double>(all);
}

}  // namespace

Operands::Operands(const OperandRule& rule, OperandRoom* room, int threads)
    : rule_(rule), room_(room), threads_(threads) {}

// Padding channels are zeros, which are never among the largest.
std::int64_t Operands::keep(OperandRule::Among among, const Activation& like, const float* from,
                            float* to) const {
  const std::int64_t elements = like.shape.size();
  if (rule_.bits > 0)
    return quantize_per_sample(from, like.n, like.floats() / like.n, rule_.bits, to, threads_);
  if (among == OperandRule::Among::kOfLayer)
    return keep_largest(from, like.floats(), kept_count(like.n * elements, rule_.density), to, threads_);
  return keep_largest_per_sample(from, like.n, like.floats() / like.n, kept_count(elements, rule_.density),
                                 to, threads_);
}

const float* Operands::weights(const Parameter& weights) {
  if (!rule_.changes_weights()) return weights.value.data();
  const std::int64_t count = weights.value.size();
  if (weights_.size() == 0) weights_ = AlignedFloats(count);
  weights_kept_ = rule_.bits > 0 ? quantize(weights.value.data(), count, rule_.bits, weights_.data())
                                 : keep_largest(weights.value.data(), count, kept_count(count, rule_.density),
                                                weights_.data(), threads_);
  return weights_.data();
}

std::optional<double> Operands::weight_zeros(const Parameter& weights) {
  if (!rule_.changes_weights()) return std::nullopt;
  this->weights(weights);
  return share_of_zeros(weights_kept_, weights.value.size());
}

const float* Operands::forward_activations(const Activation& in) {
  if (!rule_.forward_activations) return in.data.data();
  keep(rule_.activations, in, in.data.data(), room_->activations.data());
  return room_->activations.data();
}

void Operands::prepare(const Activation& in, const Activation& out) {
  activations_ = in.data.data();
  gradients_ = out.grad;
  if (rule_.changes_activations()) {
    activations_ = room_->activations.data();
    activation_zeros_ = share_of_zeros(keep(rule_.activations, in, in.data.data(), room_->activations.data()),
                                       in.n * in.shape.size());
  }
  gradient_zeros_.reset();
  if (rule_.gradients != OperandRule::Among::kAll) {
    gradients_ = room_->gradients.data();
    gradient_zeros_ = share_of_zeros(keep(rule_.gradients, out, out.grad, room_->gradients.data()),
                                     out.n * out.shape.size());
  }
}

void Operands::replace_gradients(const float* gradients, std::int64_t nonzeros, const Activation& out) {
  gradients_ = gradients;
  gradient_zeros_ = share_of_zeros(nonzeros, out.n * out.shape.size());
}

}  // namespace lacuna::train
