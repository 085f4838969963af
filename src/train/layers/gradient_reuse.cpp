#include "train/layers/gradient_reuse.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "dataset/streams.hpp"
#include "train/sparsity/topk.hpp"

namespace lacuna::train {
namespace {

constexpr std::uint64_t kReusedSample = 103;  // purpose of random numbers

LayerShape of_one_sample(LayerShape shape) {
  shape.n = 1;
  return shape;
}

}  // namespace

GradientReuse::GradientReuse(const std::string& layer, const LayerShape& shape, const Activation& in,
                             const Activation& out, bool input_grad, int threads)
    : shape_(of_one_sample(shape)),
      samples_(shape.n),
      in_floats_(in.floats() / in.n),
      out_floats_(out.floats() / out.n),
      threads_(threads),
      layer_(hash_text(layer)),
      previous_("previous/" + layer, Parameter::Kind::kState, {out.blocks(), out.shape.h, out.shape.w, 16}),
      gradient_(out_floats_),
      sum_(in_floats_),
      diff_weights_(shape_.w_elements()) {
  const bool blocked = kernels::fills_blocks(shape);
  src_ = {{1, 1, shape_.c, shape_.input.h, shape_.input.w}, blocked, threads};
  dst_ = {{1, 1, shape_.k, shape_.output.h, shape_.output.w}, blocked, threads};
  if (input_grad) diff_src_ = AlignedFloats(in_floats_);
  // The gradient of one sample has few zeros.
  kernels::ConvOptions plan;
  plan.impl = kernels::Impl::kDenseDirect;
  plan.layout = blocked ? kernels::Layout::kBlocked : kernels::Layout::kNchw;
  if (blocked) plan.src_layout = in.layout;
  plan.threads = threads;
  plan.op = Operation::kWeightGrad;
  weight_grad_.emplace(shape_, plan);
  plan.op = Operation::kInputGrad;
  if (input_grad) input_grad_.emplace(shape_, plan);
}

double GradientReuse::floats(const LayerShape& shape) {
  const LayerShape one = of_one_sample(shape);
  return 3 * static_cast<double>(one.a_elements() + one.g_elements() + one.w_elements());
}

std::optional<std::int64_t> GradientReuse::take(const Activation& out, const Pass& pass, float* to) {
  std::copy_n(previous_.value.data(), out_floats_, gradient_.data());
  Random random(dataset::stream_seed(pass.seed, kReusedSample, layer_));
  const std::int64_t sample = random.integer(0, samples_ - 1);
  std::copy_n(out.grad + sample * out_floats_, out_floats_, previous_.value.data());
  if (pass.reuse_density >= 1) return std::nullopt;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t n = 0; n < samples_; ++n)
    for (std::int64_t i = 0; i < out_floats_; ++i)
      to[n * out_floats_ + i] = out.grad[n * out_floats_ + i] - gradient_[i];
  return keep_largest(to, samples_ * out_floats_, kept_count(samples_ * out.shape.size(), pass.reuse_density),
                      to, threads_);
}

void GradientReuse::add_weight_grad(const float* activations, float* diff_weights) {
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < in_floats_; ++i) {
    float sum = 0;
    for (std::int64_t n = 0; n < samples_; ++n) sum += activations[n * in_floats_ + i];
    sum_[i] = sum;
  }
  kernels::ConvTensors tensors;
  tensors.src = src_.read(sum_.data());
  tensors.diff_dst = dst_.read(gradient_.data());
  tensors.diff_weights = diff_weights_.data();
  weight_grad_->run(tensors);
  for (std::int64_t i = 0; i < shape_.w_elements(); ++i) diff_weights[i] += diff_weights_[i];
}

void GradientReuse::add_input_grad(const float* weights, float* diff_src) {
  kernels::ConvTensors tensors;
  tensors.weights = weights;
  tensors.diff_dst = dst_.read(gradient_.data());
  tensors.diff_src = src_.written(diff_src_.data());
  input_grad_->run(tensors);
  src_.finish(diff_src_.data());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t n = 0; n < samples_; ++n)
    for (std::int64_t i = 0; i < in_floats_; ++i) diff_src[n * in_floats_ + i] += diff_src_[i];
}

}  // namespace lacuna::train
