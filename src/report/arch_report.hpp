// Machines that can be simulated and their parameters, as text and as JSON (docs/output.md).
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna {

std::string arch_list_text(const ArchCatalog& catalog, const TextStyle& style);
std::string arch_list_json(const ArchCatalog& catalog);

// Every parameter with value, unit, default, range, help and citation; what a configuration changes is
// marked.
std::string arch_show_text(const Machine& machine, const TextStyle& style);
std::string arch_show_json(const Machine& machine);

// "rows=8, depth=2": the parameters that differ from the model's defaults.
std::string changed_parameters(const Params& params);

}  // namespace lacuna
