// Results as CSV (RFC 4180, lines end with \n): one row per trace, machine, layer and operation.
// docs/output.md lists the columns.
#pragma once

#include <string>
#include <vector>

#include "report/energy_report.hpp"
#include "sim/result.hpp"

namespace lacuna {

// `energies[i]`, if given, belongs to runs[i]; where none has layers there are no columns of energy.
std::string results_to_csv(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies = {});

}  // namespace lacuna
