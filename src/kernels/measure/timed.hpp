// Kernels that are timed: plans of one implementation, and dense kernels as a user would run them instead.
#pragma once

#include <memory>
#include <string>

#include "kernels/conv.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/layout/aligned_floats.hpp"
#include "kernels/measure/plan_tensors.hpp"

namespace lacuna::kernels {

// One thread is timed by its CPU time, which other processes cannot stretch; more by the wall clock.
double timing_clock(int threads);

template <typename Call>
double timed(int threads, const Call& call) {
  const double start = timing_clock(threads);
  call();
  return timing_clock(threads) - start;
}

// An implementation on tensors that it shares with others, with weights in its own order: the same kernel in
// other memory was measured up to half as fast, by how the tensors lie.
class TimedPlan {
 public:
  TimedPlan(const LayerShape& shape, ConvOptions options, Impl impl);
  void take_weights(PlanTensors& data) { data.give_weights(plan_, weights_); }
  double seconds(PlanTensors& data);  // of one run
  ConvPlan& plan() { return plan_; }
  Impl impl() const { return plan_.options().impl; }

 private:
  ConvPlan plan_;
  AlignedFloats weights_;
};

// Where the plan has blocked tensors, oneDNN has the layouts that it chooses; where the plan has plain ones,
// so does oneDNN, and its reorders count as the plan's do. It uses the plan's own memory where that is large
// enough, whatever it holds: its time does not depend on values.
class Baseline {
 public:
  // ConvError if there is none for the shape.
  Baseline(const ConvPlan& plan, Impl impl);
  double seconds(const ConvTensors& of_plan);  // of one run
  std::string name() const { return kernel_->name(); }

 private:
  std::unique_ptr<ConvKernel> kernel_;
  AlignedFloats src_, weights_, dst_;  // empty where the plan's are used
  AlignedFloats kept_, scratch_;
  std::int64_t weights_offset_ = 0;
  int threads_;
};

}  // namespace lacuna::kernels
