// What a plan keeps between runs, and how it runs: sparse, dense or by the reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/blocked.hpp"
#include "kernels/conv.hpp"
#include "kernels/dense/dense_conv.hpp"
#include "kernels/dispatch/cost_model.hpp"
#include "kernels/packed_weights.hpp"
#include "kernels/plan_checks.hpp"
#include "kernels/pruned/pruned_conv.hpp"
#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/workspace.hpp"

namespace lacuna::kernels {

// One of the two tensors of pixels: src (or diff_src), dst (or diff_dst).
struct PlanSide {
  BlockedShape shape;  // as the sparse kernels see it
  Layout layout = Layout::kNchw;
  std::int64_t copy_at = 0;  // in the workspace: the blocked copy of a plain tensor

  PlanSide() = default;
  PlanSide(const BlockedShape& s, Layout l) : shape(direct_shape(s, l)), layout(l) {}
  // The kernels take it as it is.
  bool direct() const { return layout == Layout::kNhwc ? shape.channels_last : needs_no_copy(shape, layout); }
  std::int64_t floats() const {
    return layout == Layout::kBlocked ? stored_shape(shape).floats() : shape.plain_floats();
  }
  TensorNeeds needs() const { return {floats(), layout == Layout::kBlocked}; }
};

struct ConvPlan::State {
  LayerShape shape;
  ConvOptions options;
  Operand checked = Operand::kA;
  PlanSide src, dst;
  std::unique_ptr<SparseConv> sparse;  // skips zeros of activations or gradients,
  std::unique_ptr<PrunedConv> pruned;  // or of weights; with or_weights a plan has both
  std::unique_ptr<DenseConv> dense;
  std::string kernel_name;
  PackedWeights packing;

  CostCurve cost;              // of skipping zeros of the checked operand,
  CostCurve weight_cost;       // of weights in a plan that has both
  SampledLines sampled_lines;  // of the checked tensor, to estimate its zeros

  Workspace workspace;
  std::int64_t weights_at = 0, bias_at = 0, scratch_at = 0;
  std::vector<float> kept;   // use_weights() of a plan that has no `pruned`
  std::uint64_t stamp = 0;   // of the weights that `pruned` has, in their packed form
  bool has_pattern = false;  // use_pattern()
  struct Versions {
    std::uint64_t sparse = 0, pruned = 0, dense = 0;
  } has;                          // ConvTensors::weights_version of what each kernel has packed last
  std::vector<double> reference;  // result of Impl::kReference

  State(const LayerShape& shape, const ConvOptions& options);
  void use_workspace(void* given, std::size_t size);
  ConvRun run(const ConvTensors& t, double zeros);
  void check(const ConvTensors& t) const;
  double sampled_zeros(const ConvTensors& t) const;

  bool packed() const { return options.weights == WeightLayout::kPacked; }
  bool automatic() const { return options.impl == Impl::kAuto; }
  bool skips() const { return sparse != nullptr || pruned != nullptr; }
  bool chooses() const { return automatic() && skips(); }  // between sparse and dense
  bool either_side() const { return sparse != nullptr && pruned != nullptr; }
  // Whatever the zeros (unless `strict` finds a reason not to).
  bool always_skips() const {
    return skips() && (options.impl == Impl::kSparse || options.impl == Impl::kSparseTrain);
  }
  void pack_pruned(const float* oihw, float* packed);
  void take_pattern(const std::uint8_t* kept);
  bool weight_grad() const { return options.op == Operation::kWeightGrad; }
  // Computes the gradients of the non-zero weights alone.
  bool kept_only() const { return weight_grad() && (checked == Operand::kW || options.or_weights); }
  Impl dense_impl() const;
  std::int64_t weight_floats() const { return packed() ? packing.floats() : shape.w_elements(); }

  void measure_costs();

 private:
  const PlanSide& checked_side() const { return checked == Operand::kA ? src : dst; }
  const PlanSide& other_side() const { return checked == Operand::kA ? dst : src; }
  // What a run does; a part of it is decided in plan_choice.cpp.
  struct Choice {
    std::optional<Operand> skipped;  // nothing: dense
    double zeros;
  };
  Choice choose(const ConvTensors& t, double zeros) const;
  double data_zeros(const ConvTensors& t, std::int64_t lines) const;
  double weight_zeros(const ConvTensors& t, std::int64_t lines) const;
  bool other_is_finite(const ConvTensors& t, Operand skipped) const;
  // Where the stamp of `pruned` is in packed weights.
  std::int64_t stamp_at() const { return sparse ? round_up(sparse->packed_floats(), kLanes) : 0; }
  const float* blocked_input(const PlanSide& side, const float* data);
  void run_sparse(const ConvTensors& t, bool by_weights);
  void run_sparse_weight_grad(const ConvTensors& t);
  void run_pruned_weight_grad(const ConvTensors& t);
  void take_weights(const ConvTensors& t);
  void drop_unkept(const ConvTensors& t) const;
  void run_dense(const ConvTensors& t);
  void run_reference(const ConvTensors& t);
};

}  // namespace lacuna::kernels
