// Machines that can be simulated and their parameters, as text and as JSON (docs/output.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/catalog/registry.hpp"

namespace lacuna {

std::string arch_list_text(const ArchCatalog& catalog, const TextStyle& style);
std::string arch_list_json(const ArchCatalog& catalog);

// Every parameter with value, unit, default, range, help and citation; what a configuration changes is
// marked.
std::string arch_show_text(const Machine& machine, const TextStyle& style);
std::string arch_show_json(const Machine& machine);

// "rows=8, depth=2": the parameters that differ from the model's defaults.
std::string changed_parameters(const Params& params);

// BibTeX entries: Lacuna's own and those of the papers behind machines (docs/papers.bib).

// The entry of a key of docs/papers.bib, empty if it has none.
std::string_view bibtex_entry(std::string_view key);

// Lacuna's entry, then each paper that a model cites, once, separated by empty lines. `commit` may be empty.
std::string bibtex(std::span<const AcceleratorModel* const> models, std::string_view commit);

}  // namespace lacuna
