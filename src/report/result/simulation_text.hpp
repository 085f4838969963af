// What `lacuna simulate` prints of a simulation, as the library shows it too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "report/compare/ranking.hpp"
#include "sim/catalog/choose_machines.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulate.hpp"

namespace lacuna {

// What a person should know beside the numbers: parameters that were changed, engines that are slow, designs
// of different sizes. One line each; empty if there is nothing to say.
std::string simulation_notes(const std::vector<Machine>& machines, const Simulator& simulator, Engine engine,
                             const std::vector<RunResult>& runs);

// A simulation that has ended. `energies` has one entry per run, or none.
struct SimulationOutcome {
  std::vector<RunResult> runs;
  std::vector<RunEnergy> energies = {};
  std::string notes = {};          // simulation_notes()
  std::string unknown_areas = {};  // MachineCosts::unknown_areas()
};

// With `rank` one table of all machines, else one per model.
std::string simulation_text(const SimulationOutcome& outcome, bool layers, std::optional<RankBy> rank,
                            const TextStyle& style);

}  // namespace lacuna
