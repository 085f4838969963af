// Results as CSV (RFC 4180, lines end with \n): one row a trace, machine, layer and operation. docs/output.md
// lists the columns.
#pragma once

#include <string>
#include <vector>

#include "sim/result.hpp"

namespace lacuna {

std::string results_to_csv(const std::vector<RunResult>& runs);

}  // namespace lacuna
