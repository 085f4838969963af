// Chooses the kernel of a run: by the plan's options, or by measured costs and the zeros on either side.
#include <algorithm>
#include <cmath>

#include "kernels/choice/calibrate.hpp"
#include "kernels/plan/plan_state.hpp"

namespace lacuna::kernels {
namespace {

bool all_finite(const float* data, std::int64_t count, int threads) {
  bool finite = true;
#pragma omp parallel for num_threads(threads) reduction(&& : finite) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) finite = finite && std::isfinite(data[i]);
  return finite;
}

// The share of zeros, from more lines where a few leave the choice open.
template <typename Sample>
double zeros_to_choose_by(const CostCurve& curve, const SampledLines& lines, const Sample& sample) {
  const double zeros = sample(lines.first);
  return curve.is_sure(zeros, sampling_error(zeros, lines.first)) ? zeros : sample(lines.at_most);
}

}  // namespace

// All curves are measured against oneDNN, so their ratios to it can be compared.
void ConvPlan::State::measure_costs() {
  ConvOptions one_side = options;
  one_side.or_weights = one_side.or_needed = false;
  const auto cost_of = [&](Operand operand) {
    one_side.checked = operand;
    return calibrated_cost(shape, one_side);
  };
  if (weights) weight_cost = cost_of(Operand::kW);
  if (needed) needed_cost = cost_of(Operand::kA);
  one_side.checked = options.checked;
  cost = data ? calibrated_cost(shape, one_side) : weights ? weight_cost : needed_cost;
}

double ConvPlan::State::data_zeros(Operand operand, const ConvTensors& t, std::int64_t lines) const {
  const PlanSide& side = operand == Operand::kA ? src : dst;
  const double zeros = sample_zeros(operand == Operand::kA ? t.src : t.diff_dst, side.floats(), lines);
  // Padding channels are zeros of the layout, not of the tensor.
  const double filled = static_cast<double>(side.shape.plain_floats()) / static_cast<double>(side.floats());
  return std::clamp(1 - (1 - zeros) / filled, 0.0, 1.0);
}

double ConvPlan::State::weight_zeros(const ConvTensors& t, std::int64_t lines) const {
  if (weights && skips_weights()->has_weights() &&
      (skips_weights()->has_pattern() || packed() || t.weights == nullptr))
    return skips_weights()->zeros();
  return packed() || t.weights == nullptr ? 0 : sample_zeros(t.weights, shape.w_elements(), lines);
}

double ConvPlan::State::zeros_of(Operand operand, const ConvTensors& t, std::int64_t lines) const {
  return operand == Operand::kW ? weight_zeros(t, lines) : data_zeros(operand, t, lines);
}

double ConvPlan::State::sampled_zeros(const ConvTensors& t) const {
  return zeros_of(checked, t, sampled_lines.at_most);
}

bool ConvPlan::State::other_is_finite(const ConvTensors& t, Operand skipped) const {
  if (options.takes_needed() && skipped == Operand::kA) return true;  // no product of a result is skipped
  if (skipped == Operand::kW) {
    if (weight_grad()) return true;  // nothing of a kept weight's sum is skipped
    const bool forward = options.op == Operation::kForward;
    return all_finite(forward ? t.src : t.diff_dst, forward ? src.floats() : dst.floats(), options.threads);
  }
  if (weight_grad())
    return all_finite(checked == Operand::kA ? t.diff_dst : t.src, other_side().floats(), options.threads);
  if (packed())
    return all_finite(packing.at(t.weights, data.packing), data.kernel->packed_floats(), options.threads);
  return all_finite(t.weights, shape.w_elements(), options.threads);
}

// `given`: share of zeros of the checked operand; negative: unknown.
ConvPlan::State::Choice ConvPlan::State::choose(const ConvTensors& t, double given) const {
  Choice best{&dense, std::nullopt, given};
  double best_worth = -1, of_checked = given;
  for (const Skipping& way : ways) {
    double zeros = way.operand == checked ? given : -1;
    const bool matter = chooses() ? way.cost->zeros_matter() : ways.size() > 1;
    if (zeros < 0 && matter)
      zeros = zeros_to_choose_by(*way.cost, sampled_lines,
                                 [&](std::int64_t lines) { return zeros_of(way.operand, t, lines); });
    if (way.operand == checked) of_checked = zeros;
    const double at = std::max(zeros, 0.0);
    if (chooses() && !way.cost->prefers_sparse(at)) continue;
    const double worth = chooses() ? way.cost->dense / way.cost->sparse_at(at) : at;
    if (worth > best_worth) best = {way.kernel, way.operand, zeros}, best_worth = worth;
  }
  if (!best.skipped) best.zeros = of_checked;
  if (best.skipped && options.strict && !other_is_finite(t, *best.skipped))
    best = {&dense, std::nullopt, best.zeros};
  return best;
}

}  // namespace lacuna::kernels
