// Energy of simulated runs: what the machines counted (src/sim) times what it costs (src/energy).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "energy/outer_energy.hpp"
#include "energy/tile_energy.hpp"
#include "report/text_table.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Joules, of the machine and of what it is compared with: the same tiles without skipping, or the dense
// machine of as many multipliers.
struct EnergyPair {
  ByComponent dense;
  ByComponent machine;

  double compute_efficiency() const { return ratio(dense.compute(), machine.compute()); }
  double chip_efficiency() const { return ratio(dense.total(), machine.total()); }
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
  MachineKind kind = MachineKind::kTiles;  // of the machine; `dense` is always of tiles
  std::vector<LayerEnergy> layers;
  std::array<EnergyPair, kOperations.size()> by_operation;  // sums of the layers'
  EnergyPair all;                                           // the sum of the operations'
};

ChipParts chip_parts(const TileHardware& hardware);
OuterParts outer_parts(const OuterHardware& hardware);
// The same tiles without what skips zeros.
TileHardware without_skipping(TileHardware hardware);

// Whether the run's machine has costs (`hardware` and activities).
bool has_energy(const RunResult& run);

// The table that is asked for (by name or file; empty: the built-in one of the machine's data type), at a
// node (0: its own). Throws InputError.
CostTable choose_cost_table(const std::string& name_or_file, int node_nm, const Hardware& hardware);
// Throws InputError if the table is of another data type than the machine called `name`, or lacks the costs
// of its kind.
void check_cost_table(const CostTable& table, const Hardware& hardware, const std::string& name);

// Throws as check_cost_table().
RunEnergy run_energy(const RunResult& run, const CostTable& table);

// `energies[i]` belongs to `runs[i]`; a run without energy has no layers there. A table a model and machine
// with a row a component; with several models also one of all. `layers` adds a row a layer and operation.
std::string energy_tables(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                          bool layers, const TextStyle& style);

// The value of the field `energy` of a run; `layers` adds each layer's and operation's.
std::string energy_json(const RunEnergy& energy, bool layers, std::string_view indent);

// Area and power of a machine of tiles by component, with the same tiles without skipping beside it.
std::string area_text(const std::string& name, const TileHardware& hardware, const CostTable& table,
                      const TextStyle& style);
std::string area_json(const std::string& name, const TileHardware& hardware, const CostTable& table);

// Area of an outer-product machine by component, from what is published, at a node (0: the published one).
// Throws InputError for a PE that nothing is published of.
std::string area_text(const std::string& name, const OuterHardware& hardware, int node_nm,
                      const TextStyle& style);
std::string area_json(const std::string& name, const OuterHardware& hardware, int node_nm);

}  // namespace lacuna
