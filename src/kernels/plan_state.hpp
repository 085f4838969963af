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
  Checked checked = Checked::kActivations;
  PlanSide src, dst;
  std::unique_ptr<SparseConv> sparse;  // skips zeros of activations or gradients,
  std::unique_ptr<PrunedConv> pruned;  // or of weights
  std::unique_ptr<DenseConv> dense;
  std::string kernel_name;
  PackedWeights packing;

  CostCurve cost;
  std::int64_t sampled_lines = kMaxSampledLines;  // of the checked tensor, to estimate its zeros

  Workspace workspace;
  std::int64_t weights_at = 0, bias_at = 0, scratch_at = 0;
  std::vector<float> kept;        // use_weights() of a plan that has no `pruned`
  std::uint64_t stamp = 0;        // of the weights that `pruned` has, in their packed form
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
  // Whatever the zeros (unless `strict` finds a reason not to).
  bool always_skips() const {
    return skips() && (options.impl == Impl::kSparse || options.impl == Impl::kSparseTrain);
  }
  void pack_pruned(const float* oihw, float* packed);
  bool weight_grad() const { return options.op == Operation::kWeightGrad; }
  Impl dense_impl() const;
  std::int64_t weight_floats() const { return packed() ? packing.floats() : shape.w_elements(); }

 private:
  const PlanSide& checked_side() const { return checked == Checked::kActivations ? src : dst; }
  const PlanSide& other_side() const { return checked == Checked::kActivations ? dst : src; }
  bool other_is_finite(const ConvTensors& t) const;
  const float* blocked_input(const PlanSide& side, const float* data);
  void run_sparse(const ConvTensors& t);
  void run_sparse_weight_grad(const ConvTensors& t);
  void run_pruned_weight_grad(const ConvTensors& t);
  void take_weights(const ConvTensors& t);
  void drop_unkept(const ConvTensors& t) const;
  void run_dense(const ConvTensors& t);
  void run_reference(const ConvTensors& t);
};

}  // namespace lacuna::kernels
