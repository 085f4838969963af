#include "kernels/plan_state.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/ref/ref_conv.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"

namespace lacuna::kernels {
namespace {

using Holds = PackedWeights::Holds;

Operand checked_of(const ConvOptions& o) {
  if (o.checked) return *o.checked;
  return o.op == Operation::kInputGrad ? Operand::kG : Operand::kA;
}

}  // namespace

Impl ConvPlan::State::dense_impl() const {
  switch (options.impl) {
    case Impl::kAuto:
      return cost.dense_impl;
    case Impl::kDenseAuto:
    case Impl::kDenseWinograd:
    case Impl::kDenseGemm:
    case Impl::kBfloat16:
    case Impl::kDense1x1:
      return options.impl;
    default:
      return Impl::kDenseDirect;
  }
}

ConvPlan::State::State(const LayerShape& s, const ConvOptions& o)
    : shape(s), options(o), checked(checked_of(o)) {
  check_options(s, o);
  src = {blocked_src(s), o.layout_of_src()};
  dst = {blocked_dst(s), o.layout_of_dst()};
  const Isa isa = pick_isa(o.isa);
  // Groups of part of a block (depthwise convolutions) leave most lanes of a vector empty: oneDNN's.
  const bool part_groups = s.groups > 1 && (s.c_per_group() % kLanes != 0 || s.k_per_group() % kLanes != 0);
  const bool may_be_sparse = o.impl == Impl::kSparse || (automatic() && !part_groups);
  // The authors' kernels know blocked tensors only.
  if (o.impl == Impl::kSparseTrain) src.shape.channels_last = dst.shape.channels_last = false;
  const SparseConfig config{.shape = s,
                            .op = o.op,
                            .checked = checked,
                            .isa = isa,
                            .threads = o.threads,
                            .l1_bytes = l1_data_bytes(),
                            .src_channels_last = src.shape.channels_last,
                            .dst_channels_last = dst.shape.channels_last,
                            .ohwi = o.weights == WeightLayout::kOhwi};
  if (may_be_sparse && (checked == Operand::kW || o.or_weights)) pruned = PrunedConv::make(config);
  if (may_be_sparse && checked != Operand::kW) sparse = make_sparse_conv(config);
  if (o.impl == Impl::kSparseTrain) sparse = make_sparsetrain_conv(config);
  const bool may_be_dense = o.impl != Impl::kReference && (!always_skips() || o.strict);
  if (chooses()) measure_costs();  // which of oneDNN's, too
  if (may_be_dense) dense = std::make_unique<DenseConv>(s, o, dense_impl());
  // What `pruned` packs is in the plan; the buffer says which weights that were.
  packing = {stamp_at() + (pruned ? kLanes : 0), dense ? dense->packed_floats() : 0};
  const std::string skipping = either_side() ? std::string(sparse->name()) + " or " + pruned->name()
                               : sparse      ? sparse->name()
                               : pruned      ? pruned->name()
                                             : "";
  kernel_name = skips() && dense ? skipping + " or " + dense->name()
                : skips()        ? skipping
                : dense          ? dense->name()
                                 : "reference";
  if (!skips()) return;
  for (PlanSide* side : {&src, &dst})
    if (!side->direct()) side->copy_at = workspace.add(side->shape.floats());
  if (!packed() && sparse && !sparse->takes_plain()) weights_at = workspace.add(sparse->packed_floats());
  const BlockedShape& result = o.op == Operation::kInputGrad ? src.shape : dst.shape;
  if (!weight_grad()) bias_at = workspace.add(result.groups * result.blocks() * kLanes);
  scratch_at = workspace.add(
      std::max(sparse ? sparse->workspace_floats() : 0, pruned ? pruned->workspace_floats() : 0));
}

void ConvPlan::State::use_workspace(void* given, std::size_t size) {
  workspace.use(given, size);
  if (options.impl == Impl::kReference)
    reference.resize(static_cast<std::size_t>(RefConv(shape, options).result_size()));
}

void ConvPlan::State::check(const ConvTensors& t) const {
  check_tensors(options, {src.needs(), dst.needs(), {weight_floats(), packed()}, {shape.k, false}}, t);
}

const float* ConvPlan::State::blocked_input(const PlanSide& side, const float* data) {
  if (side.direct()) return data;
  float* copy = workspace.at(side.copy_at);
  to_blocked(side.shape, side.layout, data, copy, options.threads);
  return copy;
}

void ConvPlan::State::pack_pruned(const float* oihw, float* packed) {
  static std::atomic<std::uint64_t> last{0};
  pruned->update(oihw);
  stamp = ++last;
  std::memcpy(packing.sparse(packed) + stamp_at(), &stamp, sizeof stamp);
}

void ConvPlan::State::take_pattern(const std::uint8_t* places) {
  has.pruned = 0;
  has_pattern = places != nullptr && pruned;
  if (places == nullptr) return kept.clear();
  std::vector<float> ones(places, places + shape.w_elements());
  if (!pruned) {
    kept = std::move(ones);
    return;
  }
  pruned->update(ones.data());
}

// Before a run that skips zero weights.
void ConvPlan::State::take_weights(const ConvTensors& t) {
  if (packed()) {
    std::uint64_t found = 0;
    std::memcpy(&found, packing.sparse(t.weights) + stamp_at(), sizeof found);
    if (stamp == 0 || found != stamp)
      throw ConvError(ConvError::Code::kOption, "these weights are not the ones packed last by this plan",
                      "call pack_weights() before run()");
  } else if (t.weights != nullptr) {
    if (t.weights_version != 0 && t.weights_version == has.pruned) return;
    if (has_pattern)
      pruned->replace_values(t.weights);
    else
      pruned->update(t.weights);
    has.pruned = t.weights_version;
  } else if (!pruned->has_weights()) {
    throw ConvError(ConvError::Code::kNullPointer, "weights is null",
                    "give the weights or call use_weights()");
  }
}

void ConvPlan::State::run_pruned_weight_grad(const ConvTensors& t) {
  const float* a = blocked_input(src, t.src);
  const float* g = blocked_input(dst, t.diff_dst);
  pruned->weight_grad(a, g, t.diff_weights, workspace.at(scratch_at));
}

// A dense gradient becomes that of the non-zero weights.
void ConvPlan::State::drop_unkept(const ConvTensors& t) const {
  const float* weights = t.weights != nullptr ? t.weights : kept.empty() ? nullptr : kept.data();
  if (weights == nullptr) {
    if (!pruned || !pruned->has_weights())
      throw ConvError(ConvError::Code::kNullPointer, "weights is null",
                      "give the weights or call use_weights()");
    return pruned->keep(t.diff_weights);
  }
  const std::int64_t count = shape.w_elements();
#pragma omp parallel for num_threads(options.threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i)
    if (weights[i] == 0.0F) t.diff_weights[i] = 0.0F;
}

void ConvPlan::State::run_sparse(const ConvTensors& t, bool by_weights) {
  if (by_weights) take_weights(t);
  if (weight_grad()) return by_weights ? run_pruned_weight_grad(t) : run_sparse_weight_grad(t);
  const bool forward = options.op == Operation::kForward;
  const PlanSide& side = forward ? dst : src;
  const BlockedShape& result = side.shape;
  float* user = forward ? t.dst : t.diff_src;
  SparseRun run{};
  run.relu = options.relu;
  run.workspace = workspace.at(scratch_at);
  run.checked = forward ? blocked_input(src, t.src) : blocked_input(dst, t.diff_dst);
  run.out = side.direct() ? user : workspace.at(side.copy_at);
  if (by_weights) {
    run.other = nullptr;
  } else if (packed()) {
    run.other = packing.sparse(t.weights);
  } else if (sparse->takes_plain()) {
    run.plain = t.weights;
  } else {
    if (t.weights_version == 0 || t.weights_version != has.sparse)
      sparse->pack(t.weights, workspace.at(weights_at));
    has.sparse = t.weights_version;
    run.other = workspace.at(weights_at);
  }
  float* bias = workspace.at(bias_at);
  std::fill(bias, bias + result.groups * result.blocks() * kLanes, 0.0F);
  if (options.bias)
    for (std::int64_t k = 0; k < shape.k; ++k)
      bias[k / result.channels * result.blocks() * kLanes + k % result.channels] = t.bias[k];
  run.bias = bias;
  if (by_weights)
    pruned->run(run);
  else
    sparse->run(run);
  if (!side.direct()) from_blocked(result, side.layout, run.out, user, options.threads);
}

void ConvPlan::State::run_sparse_weight_grad(const ConvTensors& t) {
  const float* a = blocked_input(src, t.src);
  const float* g = blocked_input(dst, t.diff_dst);
  SparseRun run{};
  run.workspace = workspace.at(scratch_at);
  run.checked = checked == Operand::kA ? a : g;
  run.other = checked == Operand::kA ? g : a;
  if (!packed() && sparse->takes_plain()) {
    run.plain_out = t.diff_weights;
    return sparse->run(run);
  }
  run.out = packed() ? packing.sparse(t.diff_weights) : workspace.at(weights_at);
  sparse->run(run);
  if (packed())
    packing.mark(t.diff_weights, Holds::kSparse);
  else
    sparse->unpack(run.out, t.diff_weights);
}

void ConvPlan::State::run_dense(const ConvTensors& t) {
  if (!packed()) {
    dense->run(t, t.weights_version != 0 && t.weights_version == has.dense);
    has.dense = t.weights_version;
    return;
  }
  ConvTensors moved = t;
  if (weight_grad()) {
    moved.diff_weights = packing.dense(t.diff_weights);
    packing.mark(t.diff_weights, Holds::kDense);
  } else {
    moved.weights = packing.dense(t.weights);
  }
  dense->run(moved);
}

void ConvPlan::State::run_reference(const ConvTensors& t) {
  const RefConv ref(shape, options);
  ConvTensors used = t;
  if (!options.bias) used.bias = nullptr;
  ref.run(used, reference.data());
  float* out = options.op == Operation::kForward ? t.dst : weight_grad() ? t.diff_weights : t.diff_src;
  std::transform(reference.begin(), reference.end(), out, [](double v) { return static_cast<float>(v); });
}

ConvRun ConvPlan::State::run(const ConvTensors& t, double zeros) {
  check(t);
  if (options.impl == Impl::kReference) {
    run_reference(t);
    if (kept_only()) drop_unkept(t);
    return {Impl::kReference, zeros};
  }
  const Choice choice = choose(t, zeros);
  if (choice.skipped)
    run_sparse(t, choice.skipped == Operand::kW);
  else
    run_dense(t);
  if (kept_only() && choice.skipped != Operand::kW) drop_unkept(t);
  if (!choice.skipped) return {dense_impl(), choice.zeros};
  return {options.impl == Impl::kSparseTrain ? Impl::kSparseTrain : Impl::kSparse, choice.zeros,
          choice.skipped};
}

}  // namespace lacuna::kernels
