// Energy of a run: what the machine and its baseline counted, times what it costs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "energy/energy.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Joules of a machine beside those of its baseline.
struct EnergyPair {
  ByComponent baseline;
  ByComponent machine;

  double compute_efficiency() const { return ratio(baseline.compute(), machine.compute()); }
  double chip_efficiency() const { return ratio(baseline.total(), machine.total()); }
  EnergyPair& operator+=(const EnergyPair& other);

 private:
  static double ratio(double a, double b) { return b > 0 ? a / b : 0; }
};

struct OpEnergy {
  Operation op = Operation::kForward;
  EnergyPair energy;
};

struct LayerEnergy {
  std::string name;
  std::vector<OpEnergy> ops;
};

// Of one training step with the whole batch: what was recorded x batch_scale, weights once.
struct RunEnergy {
  std::string table;
  double node_nm = 65;
  std::vector<LayerEnergy> layers;                          // empty: the machine has no costs
  std::array<EnergyPair, kOperations.size()> by_operation;  // sums of the layers'
  EnergyPair all;                                           // the sum of the operations'
};

// Whether the machine and its baseline declare their hardware.
bool has_energy(const RunResult& run);

// Throws as check_energy_costs(), for the machine and for its baseline.
RunEnergy run_energy(const RunResult& run, const CostTable& table);

}  // namespace lacuna
