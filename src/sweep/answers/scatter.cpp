#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>
#include <utility>

#include "sweep/answers/answers.hpp"

namespace lacuna::sweep {

namespace {

constexpr double kLogarithmic = 30;
constexpr int kPlotRows = 18;
constexpr int kNarrowest = 24, kWidest = 100;  // columns

// 1, 2 and 5 of each power of ten, or the powers alone where that is too many.
Axis logarithmic_axis(double low, double high, int ticks) {
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int every = std::max(1, (last - first + ticks - 1) / std::max(1, ticks));
  const bool fine = 3 * std::log10(high / low) <= ticks + 3;
  // The range begins and ends at marks where those are near, else at the values.
  Axis axis{low, high, {}, true};
  for (int power = first; power <= last; power += every) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && !fine) continue;
      const double mark = factor * std::pow(10, power);
      if (mark <= low && mark > low / 2.6) axis.low = mark;
      if (mark >= high && mark < high * 2.6 && axis.high == high) axis.high = mark;
      axis.ticks.push_back(mark);
    }
  }
  std::erase_if(axis.ticks,
                [&](double mark) { return mark < axis.low * (1 - 1e-9) || mark > axis.high * (1 + 1e-9); });
  return axis;
}

// U+2800 and the eight dots of a character of Braille, as UTF-8.
std::string braille(unsigned dots) {
  return {'\xe2', static_cast<char>(0xa0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3f))};
}

// A character of the picture.
struct DotCell {
  unsigned dots = 0;
  bool front = false;

  // x 0 or 1, y 0 at the top to 3.
  void add(int x, int y, bool on_front) {
    dots |= y < 3 ? 1U << (y + 3 * x) : 0x40U << x;
    front |= on_front;
  }
};

std::string line_text(std::span<const DotCell> cells, const TextStyle& style) {
  std::string text;
  std::string dim;  // dots in a row share one escape
  const auto flush = [&] {
    if (!dim.empty()) text += dim_text(std::exchange(dim, {}), style);
  };
  for (const DotCell& cell : cells) {
    if (cell.dots != 0 && !cell.front) {
      dim += braille(cell.dots);
      continue;
    }
    flush();
    text += cell.front ? bold_text("●", style) : " ";
  }
  flush();
  return text;
}

std::string x_tick_line(const Axis& axis, int columns) {
  std::string line;
  for (const double tick : axis.ticks) {
    const std::string text = tick_text(tick);
    const auto middle = static_cast<std::size_t>(std::lround(axis.place(tick) * (columns - 1)));
    const std::size_t begin = middle > text.size() / 2 ? middle - text.size() / 2 : 0;
    if (begin < line.size() + (line.empty() ? 0 : 1)) continue;  // no room
    line.resize(begin, ' ');
    line += text;
  }
  return line;
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
  Axis axis{std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step};
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

std::string scatter_text(const Scatter& scatter, const TextStyle& style) {
  std::vector<double> xs, ys;
  for (const ScatterPoint& point : scatter.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  const Axis y_axis = nice_axis(ys, 5);
  std::vector<std::string> labels(kPlotRows);
  std::size_t label = 0;
  for (const double tick : y_axis.ticks) {
    std::string& text =
        labels[static_cast<std::size_t>(std::lround((1 - y_axis.place(tick)) * (kPlotRows - 1)))];
    text = tick_text(tick);
    label = std::max(label, text.size());
  }
  const int columns = std::clamp(style.width - static_cast<int>(label) - 6, kNarrowest, kWidest);
  const Axis x_axis = nice_axis(xs, columns / 12);

  std::vector<DotCell> cells(static_cast<std::size_t>(columns * kPlotRows));
  const auto at = [](double share, int size) {
    return std::clamp(static_cast<int>(share * (size - 1) + 0.5), 0, size - 1);
  };
  for (const ScatterPoint& point : scatter.points) {
    const int x = at(x_axis.place(point.x), 2 * columns);
    const int y = 4 * kPlotRows - 1 - at(y_axis.place(point.y), 4 * kPlotRows);
    cells[static_cast<std::size_t>(y / 4 * columns + x / 2)].add(x % 2, y % 4, point.front);
  }
  std::string text =
      fmt::format("{}\n{}\n", bold_text(scatter.title, style), dim_text(scatter.y_title, style));
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::span line(&cells[row * static_cast<std::size_t>(columns)], static_cast<std::size_t>(columns));
    text += fmt::format("{:>{}} {} {}", labels[row], label, labels[row].empty() ? "│" : "┤",
                        line_text(line, style));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  std::string rule;
  for (int column = 0; column < columns + 1; ++column) rule += "─";
  const std::string margin(label, ' ');
  text += fmt::format("{} └{}\n", margin, rule);
  text += fmt::format("{}   {}\n", margin, x_tick_line(x_axis, columns));
  text += fmt::format("{}   {}\n", margin, dim_text(scatter.x_title, style));
  const auto on_front = std::ranges::count(scatter.points, true, &ScatterPoint::front);
  text += fmt::format("{}   {} {} on the front   {} {}\n", margin, bold_text("●", style), on_front,
                      dim_text("⠂", style), counted(std::ssize(scatter.points), "design"));
  return text;
}

}  // namespace lacuna::sweep
