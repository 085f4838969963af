#include "train/layers/conv.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "kernels/choice/sampled_zeros.hpp"

namespace lacuna::train {
namespace {

using kernels::ConvPlan;
using kernels::ConvTensors;
using kernels::Impl;

std::vector<std::int64_t> weight_dims(const LayerShape& s) {
  if (s.kind == LayerKind::kLinear) return {s.k, s.c};
  return {s.k, s.c_per_group(), s.kernel.h, s.kernel.w};
}

kernels::BlockedShape as_blocked(const Activation& a) { return {a.n, 1, a.shape.c, a.shape.h, a.shape.w}; }

double sampled(const Activation& a, const float* data) {
  const double zeros = kernels::sample_zeros(data, a.floats());
  // Padding channels are zeros of the layout, not of the tensor.
  const double filled = static_cast<double>(a.n * a.shape.size()) / static_cast<double>(a.floats());
  return std::max(0.0, 1 - (1 - zeros) / filled);
}

// sums[c] = sum over n, h, w of a blocked tensor, for the gradient of a bias: oneDNN gives it only with its
// own convolutions, and its reduction primitive is the reference one on CPUs up to 2.6. The bits do not
// depend on the number of threads.
void channel_sums(const Activation& like, const float* blocked, float* sums, int threads) {
  const std::int64_t blocks = like.blocks();
  const std::int64_t pixels = like.pixels();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::array<double, 16> all{};
    for (std::int64_t n = 0; n < like.n; ++n) {
      // Sums over one image are floats: doubles would take twice as long as reading the memory.
      std::array<float, 16> image{};
      const float* from = blocked + (n * blocks + block) * pixels * 16;
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::size_t lane = 0; lane < 16; ++lane)
          image[lane] += from[static_cast<std::size_t>(p) * 16 + lane];
      for (std::size_t lane = 0; lane < 16; ++lane) all[lane] += static_cast<double>(image[lane]);
    }
    for (std::int64_t lane = 0; lane < std::min<std::int64_t>(16, like.shape.c - block * 16); ++lane)
      sums[block * 16 + lane] = static_cast<float>(all[static_cast<std::size_t>(lane)]);
  }
}

}  // namespace

ConvLayer::ConvLayer(const Node& node, const LayerShape& shape, Activation& in, Activation& out,
                     const ConvLayerOptions& options)
    : name_(node.name),
      shape_(shape),
      in_(in),
      out_(out),
      options_(options),
      blocked_(kernels::fills_blocks(shape)),
      weights_(node.name + ".weight", Parameter::Kind::kWeights, weight_dims(shape)),
      operands_(options.rule, options.room, options.threads),
      multiplied_weights_(weights_.value.data()),
      src_(as_blocked(in), blocked_, options.threads),
      dst_(as_blocked(out), blocked_, options.threads) {
  if (node.bias)
    bias_.emplace(node.name + ".bias", Parameter::Kind::kBias, std::vector<std::int64_t>{shape.k});
  if (options.rule.reuse) reuse_.emplace(node.name, shape, in, out, !options.initial, options.threads);
  forward_.emplace(make_plan(Operation::kForward, std::nullopt));
  if (!options.initial) input_grad_.emplace(make_plan(Operation::kInputGrad, std::nullopt));
  // Shapes that the dispatcher has not seen are measured when the plan is made: here, not in the first step.
  if (options.kernels == Kernels::kAuto && !options.initial) {
    by_activations_.emplace(make_plan(Operation::kWeightGrad, Operand::kA));
    by_gradients_.emplace(make_plan(Operation::kWeightGrad, Operand::kG));
  }
  if (options.zero_weights && !options.rule.weights && skips_weights())
    by_weights_.emplace(make_plan(Operation::kWeightGrad, Operand::kW));
}

ConvPlan ConvLayer::make_plan(Operation op, std::optional<Operand> checked) const {
  kernels::ConvOptions plan;
  plan.op = op;
  plan.checked = checked;
  plan.impl = options_.kernels == Kernels::kDense || options_.initial ? Impl::kDenseDirect
              : options_.kernels == Kernels::kSparse                  ? Impl::kSparse
                                                                      : Impl::kAuto;
  // Images and groups stay in single precision.
  const bool bfloat16 = options_.bfloat16 && !options_.initial && shape_.groups == 1;
  plan.allow_bfloat16 = bfloat16;
  plan.allow_winograd = options_.allow_winograd;
  if (bfloat16 && plan.impl == Impl::kDenseDirect) plan.impl = Impl::kBfloat16;
  plan.layout = blocked_ ? kernels::Layout::kBlocked : kernels::Layout::kNchw;
  if (blocked_) plan.src_layout = in_.layout;
  plan.threads = options_.threads;
  plan.bias = op == Operation::kForward && bias_.has_value();
  plan.relu = op == Operation::kForward && options_.relu;
  plan.or_weights = skips_weights() && op != Operation::kWeightGrad;
  plan.or_needed = leaves_out_results() && op == Operation::kInputGrad;
  return {shape_, plan};
}

std::vector<Parameter*> ConvLayer::parameters() {
  std::vector<Parameter*> all = {&weights_};
  if (bias_) all.push_back(&*bias_);
  if (reuse_) all.push_back(&reuse_->previous());
  return all;
}

double ConvLayer::input_zeros() const {
  const auto known = operands_.activation_zeros();
  return known ? *known : sampled(in_, in_.data.data());
}

double ConvLayer::gradient_zeros() const {
  const auto known = operands_.gradient_zeros();
  return known ? *known : out_.grad == nullptr ? 0 : sampled(out_, out_.grad);
}

void ConvLayer::run(Operation op, ConvPlan& plan, const ConvTensors& tensors, double zeros) {
  const double start = seconds_now();
  const kernels::ConvRun done = zeros < 0 ? plan.run(tensors) : plan.run(tensors, zeros);
  OpUse& use = use_[op];
  use.seconds += seconds_now() - start;
  ++use.calls;
  if (done.used == Impl::kSparse) ++use.sparse_calls;
  if (is_winograd(done.used)) ++use.winograd_calls;
  if (done.skipped) ++use.skipped_calls[*done.skipped];
}

// The lists of kept weights are made again only when pruning has moved some.
void ConvLayer::take_pattern() {
  if (!skips_weights() || weights_.kept.pattern == pattern_) return;
  pattern_ = weights_.kept.pattern;
  for (std::optional<ConvPlan>* plan : {&forward_, &input_grad_, &by_weights_})
    if (*plan) (*plan)->use_pattern(weights_.kept.places);
}

// Kernels that do not skip zero weights compute the gradients of all.
void ConvLayer::drop_pruned_gradients() {
  float* g = weights_.grad.data();
  const std::uint8_t* kept = weights_.kept.places;
  const std::int64_t count = weights_.grad.size();
#pragma omp parallel for simd num_threads(options_.threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) g[i] = kept[i] != 0 ? g[i] : 0.0F;
}

void ConvLayer::forward(const Pass& pass) {
  pass_ = pass;
  take_pattern();
  ConvTensors tensors;
  tensors.weights_version = pass.weights_version;
  tensors.weights = multiplied_weights_ = operands_.weights(weights_);
  if (bias_) tensors.bias = bias_->value.data();
  tensors.src = src_.read(operands_.forward_activations(in_));
  tensors.dst = dst_.written(out_.data.data());
  run(Operation::kForward, *forward_, tensors);
  dst_.finish(out_.data.data());
}

// Skips zeros of the sparsest operand; with kAuto, of the one for which the dispatcher expects most.
void ConvLayer::run_weight_grad(const ConvTensors& tensors) {
  const auto plan = [this](std::optional<ConvPlan>& kept, Operand checked) -> ConvPlan& {
    if (!kept) kept.emplace(make_plan(Operation::kWeightGrad, checked));
    return *kept;
  };
  ConvPlan& by_a = plan(by_activations_, Operand::kA);
  const bool kept_only = !pass_.all_gradients && weights_.kept.places != nullptr;
  if (options_.kernels == Kernels::kDense || options_.initial) {
    run(Operation::kWeightGrad, by_a, tensors);
    if (kept_only) drop_pruned_gradients();
    return;
  }
  ConvPlan& by_g = plan(by_gradients_, Operand::kG);
  const double a = by_a.sampled_zeros(tensors);
  const double g = by_g.sampled_zeros(tensors);
  // Returns the gain of skipping the zeros of an operand.
  const auto worth = [this](const ConvPlan& by, double zeros) {
    return options_.kernels == Kernels::kSparse ? zeros : by.expected_speedup(zeros);
  };
  const bool use_g = worth(by_g, g) > worth(by_a, a);
  if (kept_only && by_weights_) {
    const double w = by_weights_->sampled_zeros(tensors);
    if (worth(*by_weights_, w) > std::max(worth(by_g, g), worth(by_a, a)))
      return run(Operation::kWeightGrad, *by_weights_, tensors, w);
  }
  run(Operation::kWeightGrad, use_g ? by_g : by_a, tensors, use_g ? g : a);
  if (kept_only) drop_pruned_gradients();
}

void ConvLayer::clear_gradients(const std::vector<bool>& left_out) {
  const std::int64_t row = out_.floats() / out_.n;
  for (std::size_t n = 0; n < left_out.size(); ++n)
    if (left_out[n]) std::fill_n(out_.grad + static_cast<std::int64_t>(n) * row, row, 0.0F);
}

void ConvLayer::prepare_backward() {
  operands_.prepare(in_, out_);
  if (!reuse_) return;
  float* room = operands_.room_for_gradients();
  const auto nonzeros = reuse_->take(out_, pass_, room);
  reuses_ = nonzeros.has_value();
  if (reuses_) operands_.replace_gradients(room, *nonzeros, out_);
}

void ConvLayer::backward(GradientSum& sum) {
  const float* diff_dst = dst_.read(operands_.gradients());
  if (bias_ && !options_.bias_grad_done) channel_sums(out_, out_.grad, bias_->grad.data(), options_.threads);
  ConvTensors by_weights;
  by_weights.src = src_.read(operands_.activations());
  by_weights.diff_dst = diff_dst;
  by_weights.diff_weights = weights_.grad.data();
  run_weight_grad(by_weights);
  if (reuses_) reuse_->add_weight_grad(operands_.activations(), weights_.grad.data());

  float* diff_src = sum.begin(in_);
  if (diff_src == nullptr || !input_grad_) return;
  ConvTensors by_input;
  by_input.weights = multiplied_weights_;
  by_input.weights_version = pass_.weights_version;
  by_input.diff_dst = diff_dst;
  if (leaves_out_results()) by_input.src = in_.data.data();
  by_input.diff_src = src_.written(diff_src);
  run(Operation::kInputGrad, *input_grad_, by_input);
  src_.finish(diff_src);
  if (reuses_) reuse_->add_input_grad(multiplied_weights_, diff_src);
  sum.end(in_);
}

}  // namespace lacuna::train
