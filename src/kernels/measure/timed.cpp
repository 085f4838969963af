#include "kernels/measure/timed.hpp"

#include "base/clock.hpp"
#include "kernels/layout/blocked.hpp"

namespace lacuna::kernels {
namespace {

bool is_native(const ConvOptions& options) { return options.layout == Layout::kBlocked; }

ConvOptions with(ConvOptions options, Impl impl) {
  options.impl = impl;
  return options;
}

ConvOptions baseline_options(ConvOptions o) {
  if (is_native(o)) o.weights = WeightLayout::kPacked;
  o.bias = o.relu = false;
  return o;
}

AlignedFloats own_memory(std::int64_t given, std::int64_t floats) {
  if (given >= floats) return {};
  AlignedFloats own(floats);
  for (std::int64_t i = 0; i < own.size(); ++i)
    own[i] = static_cast<float>((i * 2654435761U >> 16 & 0xff) + 1) / 256.0F - 0.5F;
  return own;
}

}  // namespace

double timing_clock(int threads) {
  return clock_seconds(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

TimedPlan::TimedPlan(const LayerShape& shape, ConvOptions options, Impl impl)
    : plan_(shape, with(options, impl)), weights_(plan_.weights_size()) {}

double TimedPlan::seconds(PlanTensors& data) {
  const ConvTensors tensors = data.tensors(weights_);
  return timed(plan_.options().threads, [&] { plan_.run(tensors); });
}

Baseline::Baseline(const ConvPlan& plan, Impl impl) : threads_(plan.options().threads) {
  const bool native = is_native(plan.options());
  KernelConfig config(plan.shape(), baseline_options(plan.options()));
  config.native = native;
  kernel_ = find_implementation(impl)->make(config);
  kept_ = AlignedFloats(kernel_->kept_floats());
  scratch_ = AlignedFloats(kernel_->scratch_floats());
  if (native) {
    src_ = own_memory(plan.src_size(), kernel_->src_floats());
    dst_ = own_memory(plan.dst_size(), kernel_->dst_floats());
  }
  if (!native && plan.options().weights != WeightLayout::kPacked) return;
  const std::int64_t packed = kernel_->packed_floats();
  weights_ = own_memory(plan.weights_size(), packed);
  if (weights_.size() == 0) weights_offset_ = (plan.weights_size() - packed) / kLanes * kLanes;
}

double Baseline::seconds(const ConvTensors& of_plan) {
  ConvTensors t = of_plan;
  // Skips to the plan's own dense weights, past a header that read as numbers would be denormal.
  if (t.weights != nullptr) t.weights += weights_offset_;
  if (t.diff_weights != nullptr) t.diff_weights += weights_offset_;
  if (src_.size() > 0) t.src = t.diff_src = src_.data();
  if (weights_.size() > 0) t.weights = t.diff_weights = weights_.data();
  if (dst_.size() > 0) t.dst = dst_.data(), t.diff_dst = dst_.data();
  return timed(threads_, [&] { kernel_->run(t, {kept_.data(), scratch_.data()}); });
}

}  // namespace lacuna::kernels
