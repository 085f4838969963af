// Energy of runs as tables and JSON. Components are those that the runs list; none is known here.
#pragma once

#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "base/text/text_table.hpp"
#include "sim/run_energy.hpp"

namespace lacuna {

// `energies[i]` belongs to `runs[i]`; a run without energy has no layers there. One table per model and
// machine with a row per component; with several models also one of all. `layers` adds a row per layer and
// operation.
std::string energy_tables(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                          bool layers, const TextStyle& style);

// Return the fields `energy`, `power` and `area` of a run; `layers` adds the energy of each layer and
// operation.
Json energy_json(const RunEnergy& energy, bool layers);
Json power_json(const RunEnergy& energy);
Json area_json(const RunArea& area);

}  // namespace lacuna
