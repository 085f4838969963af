#include "sim/workload/potential.hpp"

#include <algorithm>

#include "sim/work_estimate.hpp"
#include "sim/workload/needed_outputs.hpp"

namespace lacuna {

std::optional<double> Potential::speedup() const {
  if (remaining <= 0) return std::nullopt;
  return macs / remaining;
}

std::optional<double> Potential::needed_speedup() const {
  if (needed <= 0) return std::nullopt;
  return macs / needed;
}

Potential& Potential::add(const Potential& other, double scale) {
  macs += other.macs * scale;
  remaining += other.remaining * scale;
  effectual += other.effectual * scale;
  needed += other.needed * scale;
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

bool TracePotential::has_unneeded() const { return recorded.all.needed < recorded.all.remaining; }

namespace {

// Whether needed results are counted: not in a layer that is far larger than what the trace holds of it,
// since a file of a few bytes can declare one that takes years.
bool counts_needed(const Trace& trace, const Layer& layer) {
  constexpr double kFree = 0x1p24, kPerStoredByte = 0x1p10;
  const double pairs = layer.w.zeros() > 0 ? static_cast<double>(layer.shape.macs()) / 64 : 0;
  return tile_words(layer.shape, 64) + tile_products(layer.shape) + pairs <=
         kFree + kPerStoredByte * static_cast<double>(trace.stored_bytes());
}

}  // namespace

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
      const MacCounts needed =
          counts_needed(trace, multiplied) ? count_needed_macs(multiplied, op, counts) : counts;
      OpPotential potential{.op = op, .targeted = choose_scheduled(multiplied, op, policy), .macs = {}};
      potential.macs = {.macs = static_cast<double>(counts.macs),
                        .remaining = static_cast<double>(counts.with(potential.targeted, op)),
                        .effectual = static_cast<double>(counts.effectual),
                        .needed = static_cast<double>(needed.with(potential.targeted, op))};
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
