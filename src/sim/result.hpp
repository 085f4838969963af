// Results of a simulation: numbers without formatting (src/report does that). result_fields.hpp describes
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/params.hpp"
#include "energy/components.hpp"
#include "sim/memory/activity.hpp"
#include "sim/memory/dram_requests.hpp"
#include "sim/unit_record.hpp"
#include "tensor/operation.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// Raised whenever a change makes `lacuna simulate` give other numbers: results that are kept (src/sweep) are
// not mixed with those of another version.
inline constexpr int kResultsVersion = 5;

// A number that only some machines have (bank conflicts, gated operations, ...).
struct Counter {
  // snake_case, unique in its operation; the unit is part of the name where it is not a count
  std::string name;
  std::int64_t value = 0;
  // The same for any number of samples: a yes or no, or a count of weights. The others are of the samples
  // recorded. Not part of files.
  bool once = false;
  bool operator==(const Counter& other) const { return name == other.name && value == other.value; }
};

// A choice that a machine made when it laid an operation on its hardware: which operand went where, in which
// order, how often. Names are snake_case and each machine's own.
struct MappingChoice {
  std::string name;
  std::variant<std::int64_t, std::string> value;
  bool operator==(const MappingChoice&) const = default;
};

std::string mapping_text(const std::vector<MappingChoice>& mapping);  // "rows=A columns=W steps=36"
std::string choice_text(const MappingChoice& choice);                 // the value alone

// One operation of one layer on one machine.
struct OpResult {
  Operation op = Operation::kForward;
  ScheduledOperands scheduled = {};
  std::int64_t macs = 0;            // of the dense convolution
  std::int64_t scheduled_macs = 0;  // multiplied when the scheduled operand's zeros are skipped
  std::int64_t effectual_macs = 0;  // both operands non-zero
  std::int64_t cycles = 0;
  std::vector<Counter> counters;
  std::vector<MappingChoice> mapping = {};
  std::optional<Activity> activity = std::nullopt;  // of machines with a memory system
  // Actions of the whole batch, for energy; of machines that declare their hardware.
  std::vector<ActionCount> actions = {};
  // Cycles if no value were zero (without_zeros.hpp). Filled in by the simulation.
  std::optional<std::int64_t> cycles_without_zeros = std::nullopt;
  // MACs that all multipliers could do in `cycles`. Filled in by the simulation; not part of files.
  std::int64_t peak_macs = 0;
  std::vector<DramTensor> dram_tensors = {};  // of machines with a memory system; not part of files
  UnitRecord units = {};                      // if SimOptions::units asks for it; not part of files
  // Actions if no value were zero, for the energy then. Filled in by the simulation if it is asked to; not
  // part of files.
  std::vector<ActionCount> actions_without_zeros = {};

  bool operator==(const OpResult&) const = default;
};

struct LayerResult {
  std::string name;
  std::string shape;       // LayerShape::describe()
  double batch_scale = 1;  // to the batch trained with
  std::vector<OpResult> ops;
};

// Cycles of a machine next to those of its baseline and those it would take without zeros, which are NaN if
// they are not known. The speedup is the product of the two others.
struct CycleComparison {
  double baseline_cycles = 0;
  double cycles = 0;
  double cycles_without_zeros = 0;
  double speedup() const { return cycles > 0 ? baseline_cycles / cycles : 0; }
  double speedup_from_zeros() const { return cycles > 0 ? cycles_without_zeros / cycles : 0; }
  // Returns the speedup of the machine over its baseline if there is no zero.
  double speedup_without_zeros() const {
    return cycles_without_zeros > 0 ? baseline_cycles / cycles_without_zeros : 0;
  }
  CycleComparison& operator+=(const CycleComparison& other);
};

// Cycles of an operation on a machine and on its baseline.
CycleComparison compare_cycles(const OpResult& machine, const OpResult& baseline);

// Sums over layers: one per operation, and one of all.
struct Totals {
  CycleComparison forward, input_grad, weight_grad, all;
  CycleComparison& of(Operation op) {
    return op == Operation::kForward ? forward : op == Operation::kInputGrad ? input_grad : weight_grad;
  }
  const CycleComparison& of(Operation op) const { return const_cast<Totals*>(this)->of(op); }
};

// A parameter as it was resolved; the kind decides how it is written to JSON.
struct ConfigValue {
  std::string name;
  std::string value;
  ParamSpec::Kind kind = ParamSpec::Kind::kText;
  bool operator==(const ConfigValue&) const = default;
};
std::vector<ConfigValue> resolved_config(const Params& params);

// One trace on one accelerator.
struct RunResult {
  std::string trace;  // path as given
  TraceInfo info;
  std::int64_t batch = 1;
  std::string arch;  // the machine or named configuration
  std::string base;  // the model it is a configuration of
  std::string engine;
  std::uint64_t seed = 1;
  std::vector<ConfigValue> config;  // resolved, in the order of declaration
  std::vector<LayerResult> layers;
  std::optional<Hardware> hardware = std::nullopt;  // of machines whose area and energy are modelled
  // The same trace on the machine that this one is compared with; null if it is its own baseline.
  std::shared_ptr<const RunResult> baseline = nullptr;

  std::string remark = {};  // Accelerator::remark(), for tables

  const RunResult& compared_with() const { return baseline ? *baseline : *this; }
  // The baseline's numbers of an operation, by the indices of `layers` and `ops`.
  const OpResult& baseline_op(std::size_t layer, std::size_t op) const {
    return compared_with().layers[layer].ops[op];
  }
  CycleComparison cycles_of(std::size_t layer, std::size_t op) const {
    return compare_cycles(layers[layer].ops[op], baseline_op(layer, op));
  }
  // The sum of a counter over all operations, as recorded; 0 if the machine has none of that name.
  double counter(std::string_view name) const;
  Totals total() const;      // as recorded
  Totals per_batch() const;  // each layer scaled to the batch trained with
};

}  // namespace lacuna
