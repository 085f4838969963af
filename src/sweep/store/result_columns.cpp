#include "sweep/store/result_columns.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::string_view kInteger = "INTEGER", kReal = "REAL", kText = "TEXT";

// The MACs of the dense layer are the same for every design: they are in the table of layers.
bool is_stored(const OpField& field) { return field.kind == FieldKind::kCount && field.name != "macs"; }

Cell count_of(const OpField& field, const RunResult& run, std::size_t layer, std::size_t op) {
  const FieldValue value = field.get({run.layers[layer].ops[op], run.baseline_op(layer, op)});
  const auto* count = std::get_if<std::int64_t>(&value);
  return count == nullptr ? Cell() : Cell(*count);
}

// Adds up use(layer, op), a number or nothing, over the operations of a run; NULL if none has it.
template <typename Use>
Cell sum_operations(const RunResult& run, const Use& use) {
  Cell sum;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    for (std::size_t j = 0; j < run.layers[i].ops.size(); ++j) {
      const std::optional<double> value = use(i, j);
      if (!value) continue;
      const auto* before = std::get_if<double>(&sum);
      sum = (before == nullptr ? 0 : *before) + *value;
    }
  }
  return sum;
}

Cell sum_of_batch(const OpField& field, const RunResult& run) {
  return sum_operations(run, [&](std::size_t layer, std::size_t op) -> std::optional<double> {
    const Cell count = count_of(field, run, layer, op);
    if (!std::holds_alternative<std::int64_t>(count)) return std::nullopt;
    const double scale = field.scope == FieldScope::kSamples ? run.layers[layer].batch_scale : 1;
    return scale * static_cast<double>(std::get<std::int64_t>(count));
  });
}

// Traffic of the whole batch.
std::optional<double> traffic(const RunResult& run, std::size_t layer, std::size_t op,
                              std::int64_t TensorTraffic::*count) {
  const auto& activity = run.layers[layer].ops[op].activity;
  if (!activity) return std::nullopt;
  return static_cast<double>(activity->samples.*count) * run.layers[layer].batch_scale +
         static_cast<double>(activity->weights.*count);
}

PointColumn seconds(std::string_view name, bool of_baseline) {
  return {name, "s", kReal, Measure::kCycles, [=](const RunResult& run, const RunEnergy*) -> Cell {
            const RunResult& timed = of_baseline ? run.compared_with() : run;
            if (!timed.hardware) return {};
            const CycleComparison cycles = run.per_batch().all;
            return (of_baseline ? cycles.baseline_cycles : cycles.cycles) /
                   (timed.hardware->frequency_mhz * 1e6);
          }};
}

PointColumn joules(std::string_view name, ByComponent EnergyComparison::*side,
                   double (ByComponent::*sum)() const) {
  return {name, "J", kReal, Measure::kEnergy, [=](const RunResult&, const RunEnergy* energy) {
            return energy == nullptr ? Cell() : Cell((energy->all.*side.*sum)());
          }};
}

PointColumn bytes(std::string_view name, std::int64_t TensorTraffic::*count) {
  return {name, "bytes", kReal, Measure::kMemory, [=](const RunResult& run, const RunEnergy*) {
            return sum_operations(
                run, [&](std::size_t layer, std::size_t op) { return traffic(run, layer, op, count); });
          }};
}

OperationColumn operation_joules(std::string_view name, ByComponent EnergyComparison::*side) {
  return {name, "J", kReal, Measure::kEnergy,
          [=](const RunResult&, const RunEnergy* energy, std::size_t layer, std::size_t op) {
            return energy == nullptr ? Cell() : Cell((energy->layers[layer].ops[op].energy.*side).total());
          }};
}

}  // namespace

const std::vector<PointColumn>& point_columns() {
  static const std::vector<PointColumn> kColumns = [] {
    std::vector<PointColumn> columns;
    for (const OpField& field : kOpFields) {
      if (!is_stored(field)) continue;
      columns.push_back(
          {field.name, field.unit, kReal, Measure::kCycles,
           [&field](const RunResult& run, const RunEnergy*) { return sum_of_batch(field, run); }});
    }
    using Pair = EnergyComparison;
    columns.push_back(seconds("seconds", false));
    columns.push_back(seconds("baseline_seconds", true));
    columns.push_back(joules("energy_joules", &Pair::machine, &ByComponent::total));
    columns.push_back(joules("baseline_energy_joules", &Pair::baseline, &ByComponent::total));
    columns.push_back(joules("compute_energy_joules", &Pair::machine, &ByComponent::compute));
    columns.push_back(joules("baseline_compute_energy_joules", &Pair::baseline, &ByComponent::compute));
    columns.push_back(bytes("dram_read_bytes", &TensorTraffic::dram_read_bytes));
    columns.push_back(bytes("dram_write_bytes", &TensorTraffic::dram_write_bytes));
    // Cycles of the tiles or PEs alone, with ideal memory.
    columns.push_back(
        {"compute_cycles", "cycles", kReal, Measure::kMemory, [](const RunResult& run, const RunEnergy*) {
           return sum_operations(run, [&](std::size_t i, std::size_t j) -> std::optional<double> {
             const auto& activity = run.layers[i].ops[j].activity;
             if (!activity) return std::nullopt;
             return static_cast<double>(activity->compute_cycles) * run.layers[i].batch_scale;
           });
         }});
    return columns;
  }();
  return kColumns;
}

const std::vector<OperationColumn>& operation_columns() {
  static const std::vector<OperationColumn> kColumns = [] {
    std::vector<OperationColumn> columns;
    for (const OpField& field : kOpFields) {
      if (!is_stored(field)) continue;
      columns.push_back({field.name, field.unit, kInteger, Measure::kCycles,
                         [&field](const RunResult& run, const RunEnergy*, std::size_t layer, std::size_t op) {
                           return count_of(field, run, layer, op);
                         }});
    }
    columns.push_back(operation_joules("energy_joules", &EnergyComparison::machine));
    columns.push_back(operation_joules("baseline_energy_joules", &EnergyComparison::baseline));
    // The part that decides the time: "compute", "dram".
    columns.push_back({"bound", "", kText, Measure::kMemory,
                       [](const RunResult& run, const RunEnergy*, std::size_t layer, std::size_t op) {
                         const auto& activity = run.layers[layer].ops[op].activity;
                         return activity ? Cell(std::string(bound_name(activity->bound))) : Cell();
                       }});
    columns.push_back({"dram_bytes", "bytes", kReal, Measure::kMemory,
                       [](const RunResult& run, const RunEnergy*, std::size_t layer, std::size_t op) {
                         const auto read = traffic(run, layer, op, &TensorTraffic::dram_read_bytes);
                         const auto written = traffic(run, layer, op, &TensorTraffic::dram_write_bytes);
                         return read ? Cell(*read + *written) : Cell();
                       }});
    return columns;
  }();
  return kColumns;
}

}  // namespace lacuna::sweep
