#include "sim/work_estimate.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "sim/without_zeros.hpp"

namespace lacuna {
namespace {

// Sizes are checked to multiply to less than 2^60, but not with each other's paddings and phases: doubles.
double real(std::int64_t count) { return static_cast<double>(count); }
double groups_of(std::int64_t count, std::int64_t size) { return real((count + size - 1) / size); }

double layer_work(const Layer& layer, const Accelerator& machine, Engine engine) {
  const LayerShape& shape = layer.shape;
  if (engine == Engine::kFast)
    return has_no_zeros(layer) ? machine.work_without_zeros(shape) : machine.work(shape);
  const double steps = machine.work(shape);
  // Values move one by one, in lanes of which some may be empty, and a reference is computed.
  return 4 * (steps + tile_words(shape, 16)) + real(shape.macs());
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
  const double weight_grad =
      s.is_matrix() ? groups_of(s.n, lanes) : real(s.n) * groups_of(s.output_positions(), lanes);
  return (outputs * groups + real(s.k)) * (forward + kStepsPerStream) +
         (phase_inputs * groups + real(s.c)) * (input_grad + kStepsPerStream) +
         (real(s.k) + taps * real(s.c)) * (weight_grad + kStepsPerStream);
}

double tile_products(const LayerShape& s) {
  constexpr double kStepsPerProduct = 256, kStepsPerTap = 12;
  const double phases = real(std::min(s.stride.h, s.input.h)) * real(std::min(s.stride.w, s.input.w));
  return real(s.groups) * real(s.sequence) * (2 + phases) *
         (kStepsPerProduct + kStepsPerTap * real(s.taps()));
}

double estimated_work(const Trace& trace, const Accelerator& machine, Engine engine) {
  double steps = 0;
  for (const Layer& layer : trace.layers()) steps += layer_work(layer, machine, engine);
  return steps;
}

double allowed_work(const Trace& trace, Engine engine) {
  return (kFreeSteps + kStepsPerStoredByte * real(trace.stored_bytes())) *
         (engine == Engine::kFunctional ? kFunctionalFactor : 1);
}

void check_work(const Trace& trace, const Accelerator& machine, Engine engine) {
  const double steps = estimated_work(trace, machine, engine);
  const double allowed = allowed_work(trace, engine);
  if (steps <= allowed) return;
  const Layer* largest = nullptr;
  double most = -1;
  for (const Layer& layer : trace.layers()) {
    const double of_layer = layer_work(layer, machine, engine);
    if (of_layer <= most) continue;
    most = of_layer;
    largest = &layer;
  }
  throw InputError(
      fmt::format("{}: layer {}", trace.path(), quote_name(largest->name)),
      fmt::format("its {} samples of {} would take about {:.1g} steps to simulate, the trace "
                  "{:.1g}; a file of {} bytes may take {:.1g}",
                  largest->shape.n, largest->shape.describe(), most, steps, trace.stored_bytes(), allowed),
      "record fewer samples; if you trust a compressed file, decompress it first (zstd -d)");
}

}  // namespace lacuna
