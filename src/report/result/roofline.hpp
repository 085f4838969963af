// Share of its multipliers' and its DRAM's peak that a machine reaches in each operation, and how it was laid
// on the machine.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/result.hpp"

namespace lacuna {

// A table per trace and machine: intensity, throughput, utilisation and achieved bandwidth.
std::string roofline_tables(const std::vector<RunResult>& runs, const TextStyle& style);
// A table per trace and machine of the choices that differ between operations, below those that do not.
std::string mapping_tables(const std::vector<RunResult>& runs, const TextStyle& style);

}  // namespace lacuna
