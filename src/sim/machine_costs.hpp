// Energy and area of the machines of a simulation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/run_energy.hpp"
#include "sim/simulate.hpp"

namespace lacuna {

// Which table prices them: a name or a file, empty for the one that each machine names; and at which node (0:
// the table's own).
struct CostChoice {
  std::string table;
  int node_nm = 0;
};

// The costs of each machine of a simulator, looked up before the simulation: a table that does not fit is
// reported at once, not after a long run.
class MachineCosts {
 public:
  // Throws InputError. `origin` ("--energy-table") starts the message about a table that cannot be read.
  MachineCosts(const Simulator& simulator, const CostChoice& choice, const std::string& origin);

  // The energy of each run, one per machine for each trace; without layers where its machine, or the one it
  // is compared with, declares no hardware.
  std::vector<RunEnergy> energies(const std::vector<RunResult>& runs) const;
  // One line about each machine whose area no table prices.
  const std::string& unknown_areas() const { return unknown_areas_; }

 private:
  std::vector<std::optional<CostTable>> tables_;
  std::vector<std::optional<RunArea>> areas_;
  std::string unknown_areas_;
};

}  // namespace lacuna
