#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "sweep/answers/axis.hpp"
#include "sweep/answers/scatter.hpp"

namespace lacuna::sweep {

namespace {

constexpr int kPlotRows = 18;
constexpr int kNarrowest = 24;
constexpr int kWidest = 100;

// U+2800 and the eight dots of a character of Braille, as UTF-8.
std::string braille(unsigned dots) {
  return {'\xe2', static_cast<char>(0xa0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3f))};
}

// Which bit is the dot in column x (0, 1) and row y (0 at the top, to 3).
unsigned dot_bit(int x, int y) { return y < 3 ? 1U << (y + 3 * x) : 0x40U << x; }

class DotCanvas {
 public:
  DotCanvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {}

  // x and y from 0 to 1, y upwards.
  void add(double x, double y, bool front) {
    const int column = at(x, 2 * columns_);
    const int row = 4 * rows_ - 1 - at(y, 4 * rows_);
    Cell& cell = cells_[static_cast<std::size_t>(row / 4 * columns_ + column / 2)];
    cell.dots |= dot_bit(column % 2, row % 4);
    cell.front |= front;
  }

  std::string line(int row, const TextStyle& style) const {
    std::string text;
    std::string dim;  // dots in a row share one escape
    const auto flush = [&] {
      if (!dim.empty()) text += dim_text(dim, style);
      dim.clear();
    };
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (cell.front) {
        flush();
        text += bold_text("●", style);
      } else if (cell.dots != 0) {
        dim += braille(cell.dots);
      } else {
        flush();
        text += ' ';
      }
    }
    flush();
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  struct Cell {
    unsigned dots = 0;
    bool front = false;
  };
  static int at(double share, int size) {
    return std::clamp(static_cast<int>(share * (size - 1) + 0.5), 0, size - 1);
  }

  int columns_, rows_;
  std::vector<Cell> cells_;
};

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

std::string scatter_text(const Scatter& scatter, const TextStyle& style) {
  std::vector<double> xs;
  std::vector<double> ys;
  std::size_t on_front = 0;
  for (const ScatterPoint& point : scatter.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
    on_front += point.front ? 1 : 0;
  }
  const Axis y_axis = nice_axis(ys, 5);
  std::size_t label = 0;
  for (const double tick : y_axis.ticks) label = std::max(label, tick_text(tick).size());
  const int columns = std::clamp(style.width - static_cast<int>(label) - 6, kNarrowest, kWidest);
  const Axis x_axis = nice_axis(xs, columns / 12);

  DotCanvas canvas(columns, kPlotRows);
  for (const ScatterPoint& point : scatter.points) {
    canvas.add(x_axis.place(point.x), y_axis.place(point.y), point.front);
  }
  std::string text = fmt::format("{}\n", bold_text(scatter.title, style));
  text += fmt::format("{}\n", dim_text(scatter.y_title, style));
  for (int row = 0; row < kPlotRows; ++row) {
    std::string tick;
    for (const double value : y_axis.ticks) {
      const auto at = static_cast<int>(std::lround((1 - y_axis.place(value)) * (kPlotRows - 1)));
      if (at == row) tick = tick_text(value);
    }
    text += fmt::format("{:>{}} {} {}", tick, label, tick.empty() ? "│" : "┤", canvas.line(row, style));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  std::string rule;
  for (int column = 0; column < columns + 1; ++column) rule += "─";
  text += fmt::format("{:>{}} └{}\n", "", label, rule);
  text += fmt::format("{:>{}}   {}\n", "", label, x_tick_line(x_axis, columns));
  text += fmt::format("{:>{}}   {}\n", "", label, dim_text(scatter.x_title, style));
  text +=
      fmt::format("{:>{}}   {} {} on the front   {} {}\n", "", label, bold_text("●", style), on_front,
                  dim_text("⠂", style), counted(static_cast<std::int64_t>(scatter.points.size()), "design"));
  return text;
}

}  // namespace lacuna::sweep
