// Which kernel a run of a plan uses: by its options, or by measured costs and the zeros on either side.
#include <algorithm>
#include <cmath>

#include "kernels/dispatch/calibrate.hpp"
#include "kernels/plan_state.hpp"

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
  if (sparse || !options.or_weights) cost = calibrated_cost(shape, one_side);
  if (!pruned || !options.or_weights) return;
  one_side.checked = Operand::kW;
  weight_cost = calibrated_cost(shape, one_side);
  if (!sparse) cost = weight_cost;
}

double ConvPlan::State::data_zeros(const ConvTensors& t, std::int64_t lines) const {
  const PlanSide& side = checked_side();
  const float* data = checked == Operand::kA ? t.src : t.diff_dst;
  const double zeros = sample_zeros(data, side.floats(), lines);
  // Padding channels are zeros of the layout, not of the tensor.
  const double filled = static_cast<double>(side.shape.plain_floats()) / static_cast<double>(side.floats());
  return std::clamp(1 - (1 - zeros) / filled, 0.0, 1.0);
}

double ConvPlan::State::weight_zeros(const ConvTensors& t, std::int64_t lines) const {
  const bool listed = has_pattern || packed() || t.weights == nullptr;
  if (listed && pruned && pruned->has_weights()) return pruned->zeros();
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
  if (packed()) return all_finite(packing.sparse(t.weights), sparse->packed_floats(), options.threads);
  return all_finite(t.weights, shape.w_elements(), options.threads);
}

ConvPlan::State::Choice ConvPlan::State::choose(const ConvTensors& t, double zeros) const {
  std::optional<Operand> side;
  const auto of_data = [&](std::int64_t lines) { return data_zeros(t, lines); };
  const auto of_weights = [&](std::int64_t lines) { return weight_zeros(t, lines); };
  if (either_side()) {
    const double data = zeros < 0 ? zeros_to_choose_by(cost, sampled_lines, of_data) : zeros;
    const double weights = zeros_to_choose_by(weight_cost, sampled_lines, of_weights);
    bool by_weights = weights > data;
    if (always_skips()) {
      side = by_weights ? Operand::kW : checked;
    } else {
      const bool data_pays = cost.prefers_sparse(data), weights_pay = weight_cost.prefers_sparse(weights);
      by_weights = weights_pay && (!data_pays || weight_cost.sparse_at(weights) / weight_cost.dense <
                                                     cost.sparse_at(data) / cost.dense);
      if (data_pays || weights_pay) side = by_weights ? Operand::kW : checked;
    }
    zeros = side == Operand::kW ? weights : data;
  } else if (skips()) {
    bool pays = always_skips();
    if (chooses()) {
      if (zeros < 0 && cost.zeros_matter())
        zeros = sparse ? zeros_to_choose_by(cost, sampled_lines, of_data)
                       : zeros_to_choose_by(cost, sampled_lines, of_weights);
      pays = cost.prefers_sparse(std::max(zeros, 0.0));
    }
    if (pays) side = sparse ? checked : Operand::kW;
  }
  if (side && options.strict && !other_is_finite(t, *side)) side.reset();
  return {side, zeros};
}

}  // namespace lacuna::kernels
