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

// Both curves are measured against oneDNN, so their ratios to it can be compared.
void ConvPlan::State::measure_costs() {
  ConvOptions one_side = options;
  one_side.or_weights = false;
  if (data || !options.or_weights) cost = calibrated_cost(shape, one_side);
  if (!weights || !options.or_weights) return;
  one_side.checked = Operand::kW;
  weight_cost = calibrated_cost(shape, one_side);
  if (!data) cost = weight_cost;
}

double ConvPlan::State::data_zeros(const ConvTensors& t, std::int64_t lines) const {
  const PlanSide& side = checked_side();
  const double zeros = sample_zeros(checked == Operand::kA ? t.src : t.diff_dst, side.floats(), lines);
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

double ConvPlan::State::sampled_zeros(const ConvTensors& t) const {
  const std::int64_t lines = sampled_lines.at_most;
  return checked == Operand::kW ? weight_zeros(t, lines) : data_zeros(t, lines);
}

bool ConvPlan::State::other_is_finite(const ConvTensors& t, Operand skipped) const {
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

ConvPlan::State::Choice ConvPlan::State::choose(const ConvTensors& t, double zeros) const {
  std::optional<Operand> side;
  const auto of_data = [&](std::int64_t lines) { return data_zeros(t, lines); };
  const auto of_weights = [&](std::int64_t lines) { return weight_zeros(t, lines); };
  if (either_side()) {
    const double in_data = zeros < 0 ? zeros_to_choose_by(cost, sampled_lines, of_data) : zeros;
    const double in_weights = zeros_to_choose_by(weight_cost, sampled_lines, of_weights);
    bool by_weights = in_weights > in_data;
    if (always_skips()) {
      side = by_weights ? Operand::kW : checked;
    } else {
      const bool data_pays = cost.prefers_sparse(in_data);
      const bool weights_pay = weight_cost.prefers_sparse(in_weights);
      by_weights = weights_pay && (!data_pays || weight_cost.sparse_at(in_weights) / weight_cost.dense <
                                                     cost.sparse_at(in_data) / cost.dense);
      if (data_pays || weights_pay) side = by_weights ? Operand::kW : checked;
    }
    zeros = side == Operand::kW ? in_weights : in_data;
  } else if (skips()) {
    bool pays = always_skips();
    if (chooses()) {
      if (zeros < 0 && cost.zeros_matter())
        zeros = data ? zeros_to_choose_by(cost, sampled_lines, of_data)
                     : zeros_to_choose_by(cost, sampled_lines, of_weights);
      pays = cost.prefers_sparse(std::max(zeros, 0.0));
    }
    if (pays) side = data ? checked : Operand::kW;
  }
  if (side && options.strict && !other_is_finite(t, *side)) side.reset();
  return {side, zeros};
}

}  // namespace lacuna::kernels
