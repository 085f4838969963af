#include "sim/run_energy.hpp"

namespace lacuna {

EnergyPair& EnergyPair::operator+=(const EnergyPair& other) {
  baseline += other.baseline;
  machine += other.machine;
  return *this;
}

bool has_energy(const RunResult& run) {
  return run.hardware.has_value() && run.compared_with().hardware.has_value();
}

RunEnergy run_energy(const RunResult& run, const CostTable& table) {
  const RunResult& baseline = run.compared_with();
  check_energy_costs(table, *run.hardware, run.arch);
  check_energy_costs(table, *baseline.hardware, baseline.arch);
  RunEnergy energy{
      .table = table.name, .node_nm = table.node_nm, .layers = {}, .by_operation = {}, .all = {}};
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    LayerEnergy of_layer{run.layers[i].name, {}};
    for (std::size_t j = 0; j < run.layers[i].ops.size(); ++j) {
      const OpResult& op = run.layers[i].ops[j];
      EnergyPair pair{energy_joules(*baseline.hardware, run.baseline_op(i, j).actions, table),
                      energy_joules(*run.hardware, op.actions, table)};
      energy.by_operation[static_cast<std::size_t>(op.op)] += pair;
      of_layer.ops.push_back({op.op, std::move(pair)});
    }
    energy.layers.push_back(std::move(of_layer));
  }
  for (const EnergyPair& pair : energy.by_operation) energy.all += pair;
  return energy;
}

}  // namespace lacuna
