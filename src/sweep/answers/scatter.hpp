// Designs as points in a plane, for a terminal. The page of --html draws the same (web/src/sweep).
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"

namespace lacuna::sweep {

struct ScatterPoint {
  double x = 0, y = 0;  // finite
  bool front = false;   // none beats it in both
};

struct Scatter {
  std::string title;
  std::string x_title, y_title;  // with units
  std::vector<ScatterPoint> points;
};

// Draws dots of two by four per character, larger ones for the front.
std::string scatter_text(const Scatter& scatter, const TextStyle& style);

}  // namespace lacuna::sweep
