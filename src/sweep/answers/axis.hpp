// The scale of a picture: a range with round ends and the ticks in it.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace lacuna::sweep {

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

inline constexpr double kLogarithmic = 30;

// A range around the values, which are finite, with at most about `ticks` round numbers in it. Starts at zero
// if that costs little of the range; logarithmic if the values are positive and span more than kLogarithmic.
Axis nice_axis(const std::vector<double>& values, int ticks);

// "0", "12.5", "1.2M", "300n"
std::string tick_text(double value);

}  // namespace lacuna::sweep
