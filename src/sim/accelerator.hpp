// The interface of an accelerator model.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/params.hpp"
#include "sim/result.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna {

enum class Engine {
  kFast,        // bit masks only
  kFunctional,  // values move through the modelled hardware and are compared with a reference convolution
};

constexpr std::string_view engine_name(Engine engine) {
  return engine == Engine::kFast ? "fast" : "functional";
}

struct SimOptions {
  Engine engine = Engine::kFast;
  std::uint64_t seed = 1;     // of the values drawn at the non-zeros of a trace that holds masks only
  bool without_zeros = true;  // also count OpResult::cycles_without_zeros, which may double the time
  // And OpResult::actions_without_zeros, for the energy without zeros.
  bool actions_without_zeros = false;
  PerOperation<bool> operations{true, true, true};  // those to run; inference has forward alone
  bool units = false;                               // also record OpResult::units

  bool runs(const Trace& trace, std::size_t layer, Operation op) const {
    return trace.runs(layer, op) && operations[op];
  }
};

// The machine that another one is compared with: a registered model and the parameters that are not its
// defaults. The runner builds and runs it (simulation.hpp); models never include each other.
struct BaselineSpec {
  std::string model;
  std::vector<std::pair<std::string, std::string>> settings;
};

// A baseline with the values that `own` has for the parameters `shared`.
BaselineSpec baseline_sharing(std::string model, const Params& own, const std::vector<ParamSpec>& shared);

// A configured machine. Contract:
// - simulate() is a pure function of its arguments and the parameters: no state, no I/O, safe to call from
//   several threads at once. It may call parallel_for.
// - Both engines give equal OpResults, to the last counter.
// - In the functional engine the values are computed by the modelled hardware and must equal the reference
//   convolution; a difference throws std::logic_error, since it is a defect of the model and not of the
//   input. Its cycles and counts come from the values that it executes, not from masks.
// - A machine that declares hardware() counts, in each result, only actions that the hardware declares.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual const Params& params() const = 0;
  virtual OpResult simulate(const OperationWork& work, const SimOptions& options) const = 0;

  // Returns the number of times that each operation's tensors cross the DRAM bus, by layer, where that
  // depends on the operations around it; the runner hands it back as OperationWork::passes. Usually nothing.
  virtual std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const;
  // Machine that speedups and efficiencies refer to; nothing if it is its own baseline.
  virtual std::optional<BaselineSpec> baseline() const { return std::nullopt; }
  // Components it is built of, if its area and energy are modelled.
  virtual std::optional<Hardware> hardware() const { return std::nullopt; }
  // About how many steps the fast engine takes for the three operations of a layer, whatever its zeros: see
  // work_estimate.hpp. By default every MAC counts as one step.
  virtual double work(const LayerShape& shape) const { return 3.0 * static_cast<double>(shape.macs()); }
  // The same for a layer without a single zero, where engines may count one of each kind of streams.
  virtual double work_without_zeros(const LayerShape& shape) const { return work(shape); }
  // Machines with the same text have most of their work in common (OperationWork::remember), so that it pays
  // to run them one after another; by default only those with the same parameters.
  virtual std::string sharing_key() const;
  // Remark about a run for a person, as a sentence; usually nothing.
  virtual std::string remark(const RunResult& run) const;
  // Why the fast engine is slow for these parameters on this CPU, as a sentence; empty if it is not.
  virtual std::string slow_engine_reason() const { return {}; }

  OpResult simulate(const Layer& layer, Operation op, const SimOptions& options = {}) const {
    return simulate(OperationWork(layer, op), options);
  }
};

}  // namespace lacuna
