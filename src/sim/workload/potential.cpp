#include "sim/workload/potential.hpp"

#include <algorithm>

namespace lacuna {

std::optional<double> Potential::speedup() const {
  if (remaining <= 0) return std::nullopt;
  return macs / remaining;
}

Potential& Potential::add(const Potential& other, double scale) {
  macs += other.macs * scale;
  remaining += other.remaining * scale;
  effectual += other.effectual * scale;
  return *this;
}

double TracePotential::zero_share(TraceTensor which) const {
  double weighted = 0;
  double weights = 0;
  for (const LayerPotential& entry : layers) {
    const double weight = static_cast<double>(entry.shape.macs()) * entry.batch_scale;
    weighted += weight * entry.zero_share(which);
    weights += weight;
  }
  return weights > 0 ? weighted / weights : 0;
}

bool TracePotential::has_a_forward() const {
  return std::ranges::any_of(layers,
                             [](const LayerPotential& layer) { return layer.a_forward_zeros.has_value(); });
}

TracePotential trace_potential(const Trace& trace, SchedulePolicy policy) {
  TracePotential result;
  for (const Layer& layer : trace.layers()) {
    LayerPotential entry{.name = layer.name,
                         .shape = layer.shape,
                         .steps = layer.steps,
                         .zero_shares = {layer.a.zero_share(), layer.w.zero_share(), layer.g.zero_share()},
                         .batch_scale = trace.batch_scale(layer),
                         .ops = {}};
    if (layer.a_forward) entry.a_forward_zeros = layer.a_forward->zero_share();
    for (const Operation op : kOperations) {
      if (!trace.runs(result.layers.size(), op)) continue;
      const Layer multiplied = layer.as_multiplied(op);
      const MacCounts counts = count_macs(multiplied, op);
      OpPotential potential{.op = op, .targeted = choose_scheduled(multiplied, op, policy), .macs = {}};
      potential.macs = {.macs = static_cast<double>(counts.macs),
                        .remaining = static_cast<double>(counts.with(potential.targeted, op)),
                        .effectual = static_cast<double>(counts.effectual)};
      result.recorded.ops[op].add(potential.macs, 1);
      result.recorded.all.add(potential.macs, 1);
      result.per_batch.ops[op].add(potential.macs, entry.batch_scale);
      result.per_batch.all.add(potential.macs, entry.batch_scale);
      entry.ops.push_back(potential);
    }
    result.layers.push_back(std::move(entry));
  }
  return result;
}

}  // namespace lacuna
