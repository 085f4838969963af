// Machines and one-layer traces for tests and benchmarks. The program must link lacuna_models.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/catalog/arch_catalog.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna::testing {

using Settings = std::vector<std::pair<std::string, std::string>>;

// `name` is a model or a named configuration, as for --arch; throws InputError as that does.
inline Machine configure_machine(const std::string& name, const Settings& settings = {}) {
  Machine machine = ArchCatalog().find(name, "test");
  for (const auto& [key, value] : settings) machine.params.set(key, value, "test");
  return machine;
}

inline std::unique_ptr<Accelerator> make_machine(const std::string& name, const Settings& settings = {}) {
  return configure_machine(name, settings).build();
}

// The operation on the baseline that the machine names, or on itself if it names none.
inline OpResult simulate_baseline(const Accelerator& machine, const Layer& layer, Operation op) {
  const auto spec = machine.baseline();
  if (!spec) return machine.simulate(layer, op);
  return make_machine(spec->model, spec->settings)->simulate(layer, op);
}

// A trace of one layer with these shares of zeros.
inline Trace one_layer_trace(const LayerShape& shape, const ZeroSpec& a, const ZeroSpec& w,
                             const ZeroSpec& g) {
  SyntheticSpec spec;
  spec.layers.push_back({"layer", shape, 1, a, w, g});
  return make_synthetic(spec);
}

inline Trace dense_trace(const LayerShape& shape) {
  return one_layer_trace(shape, ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense());
}

// A linear layer. Rows of its A (samples) or W (outputs) are drawn, with a dot for a zero; `others` is the
// number of outputs or samples. What is not drawn has no zeros.
inline Trace drawn_trace(Operand role, const std::vector<std::string>& rows, std::int64_t others) {
  std::vector<bool> mask;
  for (const std::string& row : rows) {
    for (const char c : row) mask.push_back(c != '.');
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto features = static_cast<std::int64_t>(rows[0].size());
  const bool is_a = role == Operand::kA;
  TraceBuilder builder("drawn");
  builder.add_layer("layer", LayerShape::linear(is_a ? count : others, features, is_a ? others : count))
      .mask(role, mask);
  return builder.build();
}

// One of the counters that only some machines have.
inline std::int64_t counter(const OpResult& result, const std::string& name) {
  for (const Counter& c : result.counters) {
    if (c.name == name) return c.value;
  }
  throw std::logic_error("no counter " + name);
}

}  // namespace lacuna::testing
