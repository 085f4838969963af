#include "sim/work_estimate.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/quote.hpp"

namespace lacuna {
namespace {

// Sizes are checked to multiply to less than 2^60, but not with each other's paddings and phases: doubles.
double real(std::int64_t count) { return static_cast<double>(count); }
double groups_of(std::int64_t count, std::int64_t size) { return real((count + size - 1) / size); }

double recorded_bytes(const Trace& trace) {
  double bytes = 0;
  for (const Layer& layer : trace.layers()) {
    for (const LayerTensor* tensor : {&layer.a, &layer.w, &layer.g})
      bytes += real(tensor->mask.rows) * real(tensor->mask.row_bytes);  // 0: not recorded
  }
  return bytes;
}

}  // namespace

double tile_words(const LayerShape& s, std::int64_t lanes) {
  constexpr double kStepsPerStream = 3;  // what a stream costs besides its words
  const double taps = real(s.taps());
  const double groups = real(s.groups);
  const double outputs = real(s.n) * real(s.output_positions());
  const double phase_inputs = real(s.n) * groups_of(s.input.h, s.stride.h) * groups_of(s.input.w, s.stride.w);
  const double forward = taps * groups_of(s.c_per_group(), lanes);
  const double input_grad = taps * groups_of(s.k_per_group(), lanes);
  const double weight_grad = s.kind == LayerKind::kLinear
                                 ? groups_of(s.n, lanes)
                                 : real(s.n) * groups_of(s.output_positions(), lanes);
  return (outputs * groups + real(s.k)) * (forward + kStepsPerStream) +
         (phase_inputs * groups + real(s.c)) * (input_grad + kStepsPerStream) +
         (real(s.k) + taps * real(s.c)) * (weight_grad + kStepsPerStream);
}

double tile_products(const LayerShape& s) {
  constexpr double kStepsPerProduct = 256, kStepsPerTap = 12;
  const double phases = real(std::min(s.stride.h, s.input.h)) * real(std::min(s.stride.w, s.input.w));
  return real(s.groups) * (2 + phases) * (kStepsPerProduct + kStepsPerTap * real(s.taps()));
}

void check_work(const Trace& trace, const Accelerator& machine, Engine engine) {
  double all = 0;
  double most = -1;
  const Layer* largest = nullptr;
  for (const Layer& layer : trace.layers()) {
    double steps = machine.work(layer.shape);
    // Values move one by one, in lanes of which some may be empty, and a reference is computed.
    if (engine == Engine::kFunctional)
      steps = 4 * (steps + tile_words(layer.shape, 16)) + real(layer.shape.macs());
    all += steps;
    if (steps > most) {
      most = steps;
      largest = &layer;
    }
  }
  const double recorded = recorded_bytes(trace);
  const double allowed = kFreeSteps + kStepsPerRecordedByte * recorded;
  if (all <= allowed) return;
  throw InputError(fmt::format("{}: layer {}", trace.path(), quote_name(largest->name)),
                   fmt::format("its {} samples of {} would take about {:.1g} steps to simulate, the trace "
                               "{:.1g}; {:.0f} bytes of masks may take {:.1g}",
                               largest->shape.n, largest->shape.describe(), most, all, recorded, allowed),
                   "record the masks of large layers, or fewer samples");
}

}  // namespace lacuna
