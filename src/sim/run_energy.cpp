#include "sim/run_energy.hpp"

#include <limits>

namespace lacuna {

EnergyComparison& EnergyComparison::operator+=(const EnergyComparison& other) {
  baseline += other.baseline;
  machine += other.machine;
  compute_without_zeros += other.compute_without_zeros;
  chip_without_zeros += other.chip_without_zeros;
  return *this;
}

namespace {

void add_without_zeros(const RunResult& run, const OpResult& op, const CostTable& table,
                       EnergyComparison& pair) {
  if (op.actions_without_zeros.empty()) {
    pair.compute_without_zeros = pair.chip_without_zeros = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  const ByComponent joules = energy_joules(*run.hardware, op.actions_without_zeros, table);
  pair.compute_without_zeros = joules.compute();
  pair.chip_without_zeros = joules.total();
}

}  // namespace

bool has_energy(const RunResult& run) {
  return run.hardware.has_value() && run.compared_with().hardware.has_value();
}

RunArea run_area(const std::string& arch, const Hardware& machine, const std::optional<Hardware>& baseline,
                 const std::string& name_or_file, int node_nm) {
  return run_area(arch, machine, baseline, area_table(name_or_file, node_nm, machine));
}

RunArea run_area(const std::string& arch, const Hardware& machine, const std::optional<Hardware>& baseline,
                 const CostTable& table) {
  check_area_costs(table, machine, arch);
  const auto of = [&](const Hardware& hardware) {
    const ByComponent area = area_mm2(hardware, table);
    return MachineArea{area.compute(), area.total(), peak_watts(hardware, table).compute()};
  };
  RunArea area{table.name, table.node_nm, of(machine), std::nullopt};
  if (baseline && baseline->area_table == machine.area_table) area.baseline = of(*baseline);
  return area;
}

RunEnergy run_energy(const RunResult& run, const CostTable& table) {
  const RunResult& baseline = run.compared_with();
  check_energy_costs(table, *run.hardware, run.arch);
  check_energy_costs(table, *baseline.hardware, baseline.arch);
  RunEnergy energy;
  energy.table = table.name;
  energy.node_nm = table.node_nm;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    LayerEnergy of_layer{run.layers[i].name, {}};
    for (std::size_t j = 0; j < run.layers[i].ops.size(); ++j) {
      const OpResult& op = run.layers[i].ops[j];
      EnergyComparison pair{energy_joules(*baseline.hardware, run.baseline_op(i, j).actions, table),
                            energy_joules(*run.hardware, op.actions, table)};
      add_without_zeros(run, op, table, pair);
      energy.by_operation[op.op] += pair;
      of_layer.ops.push_back({op.op, std::move(pair)});
    }
    energy.layers.push_back(std::move(of_layer));
  }
  for (const EnergyComparison& pair : energy.by_operation) energy.all += pair;
  const CycleComparison cycles = run.per_batch().all;
  energy.baseline_seconds = cycles.baseline_cycles / (baseline.hardware->frequency_mhz * 1e6);
  energy.machine_seconds = cycles.cycles / (run.hardware->frequency_mhz * 1e6);
  return energy;
}

}  // namespace lacuna
