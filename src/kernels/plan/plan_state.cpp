#include "kernels/plan/plan_state.hpp"

#include <algorithm>

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

// The first of the list that Impl::kSparse may choose.
PlanKernel first_that_skips(Skips what, const KernelConfig& config) {
  for (const ConvImplementation* one : conv_implementations()) {
    if (one->skips != what || one->may_choose == nullptr || !one->may_choose(config.options)) continue;
    if (auto kernel = try_make(*one, config)) return {one, std::move(kernel)};
  }
  return {};
}

PlanKernel make_named(const ConvImplementation& from, const KernelConfig& config) {
  if (from.supports != nullptr && !from.supports(config))
    throw ConvError(Code::kShape, std::string(from.name) + " does not support " + config.shape.describe(),
                    "use sparse or auto");
  return {&from, from.make(config)};
}

}  // namespace

PlanKernel ConvPlan::State::make_dense(const KernelConfig& config) const {
  const ConvImplementation* named = find_implementation(options.impl);
  if (named != nullptr && named->skips == Skips::kNothing) return make_named(*named, config);
  // The cache may name a kernel that does not support this shape or CPU.
  if (chooses()) {
    const ConvImplementation* fastest = find_implementation(cost.dense_impl);
    if (auto kernel = try_make(*fastest, config)) return {fastest, std::move(kernel)};
  }
  return make_named(*find_implementation(kHasOneDnn ? Impl::kDenseDirect : Impl::kReference), config);
}

void ConvPlan::State::make_kernels(const KernelConfig& config) {
  const ConvImplementation* named = find_implementation(options.impl);
  // Groups that end inside a block (depthwise convolutions) leave most lanes of a vector empty: oneDNN's.
  const bool part_groups =
      shape.groups > 1 && (shape.c_per_group() % kLanes != 0 || shape.k_per_group() % kLanes != 0);
  if (options.impl == Impl::kSparse || (options.impl == Impl::kAuto && !part_groups)) {
    if (checked == Operand::kW || options.or_weights) weights = first_that_skips(Skips::kWeights, config);
    if (options.takes_needed()) {
      KernelConfig by_needs = config;
      by_needs.checked = Operand::kA;
      needed = first_that_skips(Skips::kResults, by_needs);
    }
    const bool results = options.op == Operation::kInputGrad && checked == Operand::kA;
    if (checked != Operand::kW && !results) data = first_that_skips(Skips::kChecked, config);
  } else if (named != nullptr && named->skips == Skips::kChecked) {
    data = make_named(*named, config);
  } else if (named != nullptr && named->skips == Skips::kWeights) {
    weights = make_named(*named, config);
  } else if (named != nullptr && named->skips == Skips::kResults) {
    needed = make_named(*named, config);
  }
  if (data) ways.push_back({&data, &cost, checked});
  if (weights) ways.push_back({&weights, &weight_cost, Operand::kW});
  if (needed) ways.push_back({&needed, &needed_cost, Operand::kA});
  if (chooses()) measure_costs();  // of the dense ones, too
  if (!always_skips() || options.strict) dense = make_dense(config);
}

ConvPlan::State::State(const LayerShape& s, const ConvOptions& o) : shape(s), options(o) {
  check_options(s, o);
  KernelConfig config(s, o);
  const ConvImplementation* named = find_implementation(o.impl);
  if (named != nullptr && named->form == TensorForm::kBlocked)
    config.src.channels_last = config.dst.channels_last = false;
  checked = config.checked;
  src = {config.src, o.layout_of_src()};
  dst = {config.dst, o.layout_of_dst()};
  make_kernels(config);
  lay_out();
  kernel_name = describe();
  if (chooses()) sampled_lines = lines_worth_sampling(cost.dense);
}

// Places the workspace and the packed weights of each kernel.
void ConvPlan::State::lay_out() {
  if (needed && !src.direct()) needed_copy_at = workspace.add(src.shape.floats());
  if (skips() || (dense && dense.takes_blocked()))
    for (PlanSide* side : {&src, &dst})
      if (!side->direct()) side->copy_at = workspace.add(side->shape.floats());
  std::int64_t scratch = 0;
  for (PlanKernel* one : {&data, &weights, &needed, &dense}) {
    if (!*one) continue;
    one->kept_at = workspace.add(one->kernel->kept_floats());
    one->packing = packing.add(one->kernel->packed_floats());
    scratch = std::max(scratch, one->kernel->scratch_floats());
  }
  scratch_at = workspace.add(scratch);
}

std::string ConvPlan::State::describe() const {
  std::string names;
  for (const PlanKernel* one : {&data, &weights, &needed, &dense})
    if (*one) names.append(names.empty() ? "" : " or ").append(one->kernel->name());
  return names;
}

void ConvPlan::State::check(const ConvTensors& t) const {
  check_tensors(options, {src.needs(), dst.needs(), {weight_floats(), packed()}, {shape.k, false}}, t);
}

void ConvPlan::State::pack(const float* plain, float* packed) {
  for (PlanKernel* one : {&data, &weights, &needed, &dense}) {
    if (!*one) continue;
    one->kernel->pack(plain, packing.at(packed, one->packing));
    packing.mark(packed, one->packing);
  }
}

void ConvPlan::State::unpack(const float* packed, float* plain) {
  const std::size_t holds = packing.marked(packed);
  if (holds == PackedWeights::kNone)
    throw ConvError(Code::kOption, "this memory is not a packed gradient", "run the plan first");
  for (const PlanKernel* one : {&data, &weights, &needed, &dense})
    if (*one && one->packing == holds) one->kernel->unpack(packing.at(packed, holds), plain);
}

void ConvPlan::State::take_weights(const float* oihw) {
  if (weights)
    skips_weights()->use_weights(oihw);
  else
    kept.assign(oihw, oihw + shape.w_elements());
}

void ConvPlan::State::take_pattern(const std::uint8_t* places) {
  if (weights)
    skips_weights()->use_pattern(places);
  else if (places == nullptr)
    kept.clear();
  else
    kept.assign(places, places + shape.w_elements());
}

// A dense gradient becomes that of the non-zero weights.
void ConvPlan::State::drop_unkept(const ConvTensors& t) const {
  const float* given = t.weights != nullptr ? t.weights : kept.empty() ? nullptr : kept.data();
  if (given == nullptr) {
    if (!weights || !skips_weights()->has_weights())
      throw ConvError(Code::kNullPointer, "weights is null", "give the weights or call use_weights()");
    return skips_weights()->keep_nonzero(t.diff_weights);
  }
  const std::int64_t count = shape.w_elements();
#pragma omp parallel for num_threads(options.threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i)
    if (given[i] == 0.0F) t.diff_weights[i] = 0.0F;
}

void ConvPlan::State::run_kernel(const PlanKernel& chosen, const ConvTensors& t) {
  ConvTensors inner = t;
  if (options.borrow_workspace) inner.weights_version = 0;
  const PlanSide* result = options.op == Operation::kForward     ? &dst
                           : options.op == Operation::kInputGrad ? &src
                                                                 : nullptr;
  float* const given = result == &dst ? t.dst : t.diff_src;
  const auto input = [&](const PlanSide& side, const float*& data_of, std::int64_t copy_at) {
    if (side.direct()) return;
    float* copy = workspace.at(copy_at);
    to_blocked(side.shape, side.layout, data_of, copy, options.threads);
    data_of = copy;
  };
  const bool blocked = chosen.takes_blocked();
  if (blocked) {
    if (result != &src) input(src, inner.src, src.copy_at);
    if (&chosen == &needed) input(src, inner.src, needed_copy_at);
    if (result != &dst) input(dst, inner.diff_dst, dst.copy_at);
    if (result != nullptr && !result->direct()) inner.dst = inner.diff_src = workspace.at(result->copy_at);
  }
  if (packed() && weight_grad()) {
    inner.diff_weights = packing.at(t.diff_weights, chosen.packing);
    packing.mark(t.diff_weights, chosen.packing);
  } else if (packed()) {
    inner.weights = packing.at(t.weights, chosen.packing);
  }
  chosen.kernel->run(inner, {workspace.at(chosen.kept_at), workspace.at(scratch_at)});
  if (blocked && result != nullptr && !result->direct())
    from_blocked(result->shape, result->layout, workspace.at(result->copy_at), given, options.threads);
}

ConvRun ConvPlan::State::run(const ConvTensors& t, double zeros) {
  check(t);
  if (options.borrow_workspace) workspace.lend(t.workspace);
  const Choice choice = choose(t, zeros);
  run_kernel(*choice.kernel, t);
  if (kept_only() && choice.skipped != Operand::kW) drop_unkept(t);
  if (!choice.skipped) return {choice.kernel->from->impl(), choice.zeros};
  const bool named = find_implementation(options.impl) != nullptr;
  return {named ? options.impl : Impl::kSparse, choice.zeros, choice.skipped};
}

}  // namespace lacuna::kernels
