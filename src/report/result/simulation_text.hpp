// The text of a simulation: `lacuna simulate` prints it, and the library returns it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "report/compare/ranking.hpp"
#include "sim/catalog/choose_machines.hpp"
#include "sim/simulation.hpp"

namespace lacuna {

// Notes for a person about parameters that were changed, engines that are slow, and designs of different
// sizes: one line each.
std::string simulation_notes(const std::vector<Machine>& machines, const Simulation& simulation,
                             Engine engine, const SimulationOutcome& outcome);

// Returns the notes and the tables: with `rank` one of all machines, else one per model.
std::string simulation_text(const SimulationOutcome& outcome, const std::string& notes, bool layers,
                            std::optional<RankBy> rank, const TextStyle& style);

}  // namespace lacuna
