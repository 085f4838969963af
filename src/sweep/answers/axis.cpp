#include "sweep/answers/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace lacuna::sweep {

namespace {

// 1, 2 and 5 of each power of ten, or the powers alone where that is too many.
Axis logarithmic_axis(double low, double high, int ticks) {
  Axis axis{.ticks = {}, .logarithmic = true};
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int every = std::max(1, (last - first + ticks - 1) / std::max(1, ticks));
  const bool fine = 3 * std::log10(high / low) <= ticks + 3;
  std::vector<double> marks;
  for (int power = first; power <= last; power += every) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor == 1 || fine) marks.push_back(factor * std::pow(10, power));
    }
  }
  // The range begins and ends at marks where those are near, else at the values.
  axis.low = low;
  axis.high = high;
  for (const double mark : marks) {
    if (mark <= low && mark > low / 2.6) axis.low = mark;
    if (mark >= high && mark < high * 2.6 && axis.high == high) axis.high = mark;
  }
  for (const double mark : marks) {
    if (mark >= axis.low * (1 - 1e-9) && mark <= axis.high * (1 + 1e-9)) axis.ticks.push_back(mark);
  }
  return axis;
}

}  // namespace

Axis nice_axis(const std::vector<double>& values, int ticks) {
  double low = values.empty() ? 0 : *std::ranges::min_element(values);
  double high = values.empty() ? 1 : *std::ranges::max_element(values);
  if (low > 0 && high > kLogarithmic * low) return logarithmic_axis(low, high, ticks);
  if (low > 0 && low < 0.3 * high) low = 0;
  if (!(high > low)) {
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double rough = (high - low) / std::max(1, ticks);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  Axis axis{std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, {}, false};
  const auto steps = static_cast<int>(std::lround((axis.high - axis.low) / step));
  for (int i = 0; i <= steps; ++i) axis.ticks.push_back(axis.low + i * step);
  return axis;
}

std::string tick_text(double value) {
  constexpr std::array<std::pair<double, const char*>, 7> kUnits{
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}}};
  if (std::abs(value) < 1e-15) return "0";
  // Below a thousandth; 0.005 reads better than 5m.
  for (const auto& [scale, unit] : kUnits) {
    const double least = scale == 1 ? 1e-3 : scale;
    if (std::abs(value) >= least * (1 - 1e-12)) return fmt::format("{:.4g}{}", value / scale, unit);
  }
  return fmt::format("{:.3g}", value);
}

}  // namespace lacuna::sweep
