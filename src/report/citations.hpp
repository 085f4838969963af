// BibTeX entries: Lacuna's own and those of the papers behind machines (docs/papers.bib).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/catalog/registry.hpp"

namespace lacuna {

// The entry of a key of docs/papers.bib, empty if it has none.
std::string_view bibtex_entry(std::string_view key);

// Lacuna's entry, then each paper that a model cites, once, separated by empty lines. `commit` may be empty.
std::string bibtex(std::span<const AcceleratorModel* const> models, std::string_view commit);

}  // namespace lacuna
