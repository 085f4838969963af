#include "conformance/model_checks.hpp"

#include <fmt/format.h>
#include <functional>
#include <stdexcept>

#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/mac_counts.hpp"
#include "sim/workload/needed_outputs.hpp"

namespace lacuna::testing {
namespace {

// Runs check(layer, operation, seed), which gives back what is wrong, on random layers.
std::string on_random_layers(
    std::uint64_t layers, const RandomLayerLimits& limits,
    const std::function<std::string(const Layer&, Operation, std::uint64_t)>& check) {
  for (std::uint64_t seed = 1; seed <= layers; ++seed) {
    const Trace trace = random_trace(seed, limits);
    for (const Operation op : kOperations) {
      const std::string wrong = check(trace.layers()[0], op, seed);
      if (!wrong.empty()) {
        return fmt::format("seed {}, {}, {}: {}", seed, operation_name(op),
                           trace.layers()[0].shape.describe(), wrong);
      }
    }
  }
  return {};
}

// Runs the functional engine; returns the message of a logic_error that it throws.
std::string run_functional_engine(const Accelerator& machine, const OperationWork& work, std::uint64_t seed,
                                  OpResult& result) {
  try {
    result = machine.simulate(work, {Engine::kFunctional, seed});
  } catch (const std::logic_error& error) {
    return fmt::format("the functional engine threw '{}'", error.what());
  }
  return {};
}

// What is counted of the work itself. Padding is counted on masks, and memory by the numbers of non-zeros.
std::string difference(const OpResult& values, const OpResult& masks) {
  if (values.cycles != masks.cycles) {
    return fmt::format("the functional engine takes {} cycles where the values ask for {}", values.cycles,
                       masks.cycles);
  }
  if (values.scheduled_macs != masks.scheduled_macs) return "scheduled_macs are not those of the values";
  if (values.effectual_macs != masks.effectual_macs) return "effectual_macs are not those of the values";
  if (values.counters != masks.counters) return "counters are not those of the values";
  return {};
}

}  // namespace

std::string check_engines_agree(const Accelerator& machine, std::uint64_t layers) {
  return on_random_layers(
      layers, RandomLayerLimits{20, 6, 2}, [&](const Layer& layer, Operation op, std::uint64_t seed) {
        OpResult functional;
        std::string wrong = run_functional_engine(machine, OperationWork(layer, op), seed, functional);
        if (wrong.empty() && functional != machine.simulate(layer, op, {Engine::kFast, seed})) {
          wrong = "the engines do not agree";
        }
        return wrong;
      });
}

ValuesCheck check_executes_values(const Accelerator& machine, std::uint64_t layers) {
  ValuesCheck check;
  for (std::uint64_t seed = 1; seed <= layers && check.wrong.empty(); ++seed) {
    Random random(seed ^ 0x5eedULL);
    const LayerShape shape = random_shape(random, RandomLayerLimits{40, 6, 2});
    const Trace trace = random_trace(seed, shape, SyntheticContent::kValues);
    const Trace other = random_trace(seed + layers, shape);
    const Layer& honest = trace.layers()[0];
    Layer misleading = honest;  // its masks are not those of its values; how many there are is left as it is
    misleading.a.mask = other.layers()[0].a.mask;
    misleading.w.mask = other.layers()[0].w.mask;
    misleading.g.mask = other.layers()[0].g.mask;
    for (const Operation op : kOperations) {
      OperationWork work(misleading, op);
      check.telling += machine.simulate(work, {}).cycles != machine.simulate(honest, op).cycles ? 1 : 0;
      work.macs = count_macs(honest, op);
      OpResult functional;
      std::string wrong = run_functional_engine(machine, work, seed, functional);
      if (wrong.empty()) wrong = difference(functional, machine.simulate(honest, op));
      if (wrong.empty()) continue;
      check.wrong = fmt::format(
          "seed {}, {}, {}, with masks that are not those of the values: {}. Does it take its counts from "
          "masks? "
          "OperandStreams::values() says which values are not zero",
          seed, operation_name(op), shape.describe(), wrong);
      break;
    }
  }
  return check;
}

std::string check_counters(const Accelerator& machine, std::uint64_t layers) {
  return on_random_layers(layers, RandomLayerLimits{40, 9, 2},
                          [&](const Layer& layer, Operation op, std::uint64_t) -> std::string {
                            const OpResult result = machine.simulate(layer, op, {});
                            const MacCounts all = count_macs(layer, op);
                            const MacCounts macs = needed_outputs_only(machine.params())
                                                       ? count_needed_macs(layer, op, all)
                                                       : all;
                            if (result.op != op) return "the result is of another operation";
                            if (result.macs != macs.macs) return "macs are not the layer's";
                            if (result.effectual_macs != macs.effectual)
                              return "effectual_macs are not the layer's";
                            if (result.effectual_macs > result.scheduled_macs)
                              return "more effectual than scheduled MACs";
                            // No work at all is possible: a stride that passes over every input leaves
                            // nothing to W*G.
                            const std::int64_t least = result.effectual_macs > 0 ? 1 : 0;
                            if (simulate_baseline(machine, layer, op).cycles < least)
                              return "work for no cycles of the baseline";
                            if (result.cycles < least) return "work for no cycles";
                            if (machine.simulate(layer, op, {}) != result) return "not a pure function";
                            return {};
                          });
}

}  // namespace lacuna::testing
