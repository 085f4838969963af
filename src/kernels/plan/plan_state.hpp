// The parts of a plan: the caller's tensors, the kernels that it may run, and the choice between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/optional_libraries.hpp"
#include "kernels/choice/cost_model.hpp"
#include "kernels/choice/sampled_zeros.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/plan/packed_weights.hpp"
#include "kernels/plan/plan_checks.hpp"
#include "kernels/plan/workspace.hpp"

namespace lacuna::kernels {

// One of the two tensors of pixels: src (or diff_src), dst (or diff_dst).
struct PlanSide {
  BlockedShape shape;  // as kernels of blocked tensors see it
  Layout layout = Layout::kNchw;
  std::int64_t copy_at = 0;  // in the workspace: the blocked copy of a tensor that is not direct()

  // True if kernels of blocked tensors take it without a copy.
  bool direct() const { return layout == Layout::kNhwc ? shape.channels_last : needs_no_copy(shape, layout); }
  std::int64_t floats() const {
    return layout == Layout::kBlocked ? stored_shape(shape).floats() : shape.plain_floats();
  }
  TensorNeeds needs() const { return {floats(), layout == Layout::kBlocked}; }
};

// A kernel of a plan, if it has one of this kind.
struct PlanKernel {
  const ConvImplementation* from = nullptr;
  std::unique_ptr<ConvKernel> kernel;
  std::int64_t kept_at = 0;  // in the workspace
  std::size_t packing = 0;   // in packed weights

  explicit operator bool() const { return kernel != nullptr; }
  bool takes_blocked() const { return from->form != TensorForm::kAsGiven; }
};

struct ConvPlan::State {
  LayerShape shape;
  ConvOptions options;
  Operand checked = Operand::kA;
  PlanSide src, dst;
  PlanKernel data;     // skips zeros of activations or gradients,
  PlanKernel weights;  // or of weights; with or_weights a plan has both
  PlanKernel needed;   // or results that are not needed; with or_needed besides the others
  PlanKernel dense;    // skips nothing
  std::string kernel_name;
  PackedWeights packing;

  // The kernels that skip, what their choice goes by and the operand whose zeros they skip.
  struct Skipping {
    const PlanKernel* kernel;
    const CostCurve* cost;
    Operand operand;
  };
  std::vector<Skipping> ways;
  CostCurve cost;              // of skipping zeros of the checked operand,
  CostCurve weight_cost;       // of weights in a plan that has both
  CostCurve needed_cost;       // of results, by the zeros of A, the same
  SampledLines sampled_lines;  // of the checked tensor, to estimate its zeros

  Workspace workspace;
  std::int64_t scratch_at = 0;
  std::int64_t needed_copy_at = 0;  // a blocked copy of A
  std::vector<float> kept;          // use_weights() and use_pattern() of a plan that cannot skip zero weights

  State(const LayerShape& shape, const ConvOptions& options);
  ConvRun run(const ConvTensors& t, double zeros);
  void check(const ConvTensors& t) const;
  double sampled_zeros(const ConvTensors& t) const;
  void pack(const float* plain, float* packed);
  void unpack(const float* packed, float* plain);
  void take_weights(const float* oihw);
  void take_pattern(const std::uint8_t* places);

  bool packed() const { return options.weights == WeightLayout::kPacked; }
  bool weight_grad() const { return options.op == Operation::kWeightGrad; }
  bool skips() const { return data || weights || needed; }
  bool chooses() const {  // between sparse and dense; the reference is never the faster one
    return kHasOneDnn && options.impl == Impl::kAuto && skips();
  }
  // Whatever the zeros, unless `strict` finds a reason not to.
  bool always_skips() const { return skips() && !chooses(); }
  // Computes the gradients of the non-zero weights alone.
  bool kept_only() const { return weight_grad() && (checked == Operand::kW || options.or_weights); }
  std::int64_t weight_floats() const { return packed() ? packing.floats() : shape.w_elements(); }
  SkipsWeights* skips_weights() const { return dynamic_cast<SkipsWeights*>(weights.kernel.get()); }

 private:
  const PlanSide& other_side() const { return checked == Operand::kA ? dst : src; }
  void make_kernels(const KernelConfig& config);
  PlanKernel make_dense(const KernelConfig& config) const;
  void lay_out();
  std::string describe() const;

  // The decisions of a run, in plan_choice.cpp.
  struct Choice {
    const PlanKernel* kernel;        // of this plan
    std::optional<Operand> skipped;  // nothing: dense
    double zeros;
  };
  void measure_costs();
  Choice choose(const ConvTensors& t, double zeros) const;
  double zeros_of(Operand operand, const ConvTensors& t, std::int64_t lines) const;
  double data_zeros(Operand operand, const ConvTensors& t, std::int64_t lines) const;
  double weight_zeros(const ConvTensors& t, std::int64_t lines) const;
  bool other_is_finite(const ConvTensors& t, Operand skipped) const;

  void run_kernel(const PlanKernel& chosen, const ConvTensors& t);
  void drop_unkept(const ConvTensors& t) const;
};

}  // namespace lacuna::kernels
