// Designs as points in a plane, for a terminal. The page of --html draws the same (web/src/sweep).
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"

namespace lacuna::sweep {

// The scale of a picture: a range with round ends and the ticks in it.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks = {};
  bool logarithmic = false;

  // 0 at low, 1 at high.
  double place(double value) const {
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

// A range around the values, which are finite, with at most about `ticks` round numbers in it. Starts at zero
// if that costs little of the range; logarithmic if the values are positive and span more than a factor of
// thirty.
Axis nice_axis(const std::vector<double>& values, int ticks);

// "0", "12.5", "1.2M", "300n"
std::string tick_text(double value);

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
