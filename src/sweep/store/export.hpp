// A file of results as text for other programs.
#pragma once

#include <string>

#include "sweep/store/database.hpp"

namespace lacuna::sweep {

// The view `points`, one row per point in the order in which they were computed; or another one (by_network,
// pareto, operations, failures). Throws InputError for a view that does not exist.
std::string export_csv(const Reader& results, const std::string& view);
// {"schema": 1, "lacuna": "0.1.0", "view": "points", "rows": [{...}, ...]}
std::string export_json(const Reader& results, const std::string& view);

}  // namespace lacuna::sweep
