// Energy of a run: what the machine and its baseline counted, times what it costs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "energy/energy.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Joules of a machine next to those of its baseline and those it would take without zeros.
struct EnergyComparison {
  ByComponent baseline;
  ByComponent machine;
  // Joules of the machine if no value were zero (without_zeros.hpp), of the logic and of everything. NaN if
  // they are not known.
  double compute_without_zeros = 0;
  double chip_without_zeros = 0;

  // The efficiency is the product of what zeros give and of what is left without them.
  double compute_efficiency() const { return ratio(baseline.compute(), machine.compute()); }
  double chip_efficiency() const { return ratio(baseline.total(), machine.total()); }
  double compute_efficiency_from_zeros() const { return ratio(compute_without_zeros, machine.compute()); }
  double chip_efficiency_from_zeros() const { return ratio(chip_without_zeros, machine.total()); }
  double chip_efficiency_without_zeros() const { return ratio(baseline.total(), chip_without_zeros); }
  EnergyComparison& operator+=(const EnergyComparison& other);

 private:
  // 0 without energy; NaN if either is not known.
  static double ratio(double a, double b) { return b > 0 || b != b ? a / b : 0; }
};

struct OpEnergy {
  Operation op = Operation::kForward;
  EnergyComparison energy;
};

struct LayerEnergy {
  std::string name;
  std::vector<OpEnergy> ops;
};

// Area of a machine, and the power of its logic if all of it is clocked in every cycle (0: not known).
struct MachineArea {
  double compute_mm2 = 0;
  double total_mm2 = 0;
  double peak_watts = 0;
};

// A machine's area, and that of its baseline if the same table prices both: areas from different sources (a
// published chip, a table of units) are not comparable.
struct RunArea {
  std::string table;
  double node_nm = 0;
  MachineArea machine;
  std::optional<MachineArea> baseline;
};

// Returns the area by the table `name_or_file` or, without one, by the one that the hardware names; at a node
// (0: the table's own). Throws InputError if the table does not price the machine.
RunArea run_area(const std::string& arch, const Hardware& machine, const std::optional<Hardware>& baseline,
                 const std::string& name_or_file, int node_nm);
RunArea run_area(const std::string& arch, const Hardware& machine, const std::optional<Hardware>& baseline,
                 const CostTable& table);

// Energy of one training step with the whole batch: recorded counts x batch_scale, weights once.
struct RunEnergy {
  std::string table;
  double node_nm = 65;
  std::vector<LayerEnergy> layers;              // empty: the machine has no costs
  PerOperation<EnergyComparison> by_operation;  // sums of the layers'
  EnergyComparison all;                         // the sum of the operations'
  double baseline_seconds = 0;                  // that the step takes
  double machine_seconds = 0;
  std::optional<RunArea> area = std::nullopt;

  // Averages over the step.
  double baseline_watts() const { return all.baseline.total() / baseline_seconds; }
  double machine_watts() const { return all.machine.total() / machine_seconds; }
};

// Returns whether the machine and its baseline declare their hardware.
bool has_energy(const RunResult& run);

// Throws as check_energy_costs(), for the machine and for its baseline.
RunEnergy run_energy(const RunResult& run, const CostTable& table);

}  // namespace lacuna
