// Designs as points in a plane, the front among them: for a terminal and as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"

namespace lacuna::sweep {

struct ScatterPoint {
  double x = 0, y = 0;  // finite
  std::string series;   // the machine's name
  std::string model;    // decides the colour
  std::string text;     // what the design is
  bool front = false;
};

struct Scatter {
  std::string title;
  std::string x_title, y_title;      // with units
  std::vector<ScatterPoint> points;  // those of the front by ascending x
  bool x_maximise = false, y_maximise = false;
};

// Dots of two by four per character, larger ones for the front.
std::string scatter_text(const Scatter& scatter, const TextStyle& style);

// A whole file. Points that lie on each other are drawn once, so that ten thousand designs stay small.
std::string scatter_svg(const Scatter& scatter);

}  // namespace lacuna::sweep
