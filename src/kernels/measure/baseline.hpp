// Dense kernels to compare a plan with, as a user would run them instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {

// Where the plan has blocked tensors, oneDNN has the layouts that it chooses; where the plan has plain ones,
// so does oneDNN, and its reorders count as the plan's do. It uses the plan's own memory where that is large
// enough, whatever it holds (its time does not depend on values): the same kernel in other memory was
// measured up to half as fast, by how the tensors lie.
class Baseline {
 public:
  // ConvError if there is none for the shape.
  Baseline(const ConvPlan& plan, Impl impl);
  double seconds(const ConvTensors& of_plan);  // of one run
  std::string name() const { return kernel_->name(); }

 private:
  std::unique_ptr<ConvKernel> kernel_;
  AlignedFloats src_, weights_, dst_;  // empty where the plan's are used
  std::int64_t weights_offset_ = 0;
  int threads_;
};

// Baselines that are the same kernel are one and are timed once.
class Baselines {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // The index of this one; kNone where oneDNN has none for the shape.
  std::size_t add(const ConvPlan& plan, Impl algorithm);
  std::size_t size() const { return all_.size(); }
  Baseline& operator[](std::size_t i) { return *all_[i]; }

 private:
  std::vector<std::unique_ptr<Baseline>> all_;
};

// One thread is timed by the CPU time of the process, which other processes cannot stretch; more by the wall
// clock.
double timing_clock(int threads);

}  // namespace lacuna::kernels
