// Results of given points alone, whatever else the file holds: what a search is told.
#pragma once

#include <string>
#include <vector>

#include "sweep/answers/results.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

// The numbers that the view `points` has, in any file.
std::vector<std::string> metrics_of_points();

// keys[i][j]: the point of design i on trace j. The result has the designs in that order, the traces as its
// networks
// ("0", "1", ...), and no rows of points that are not there.
Results read_points(const Reader& reader, const std::vector<std::vector<std::string>>& keys);

}  // namespace lacuna::sweep
