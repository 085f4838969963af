#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

#include "base/text/quote.hpp"
#include "sweep/answers/axis.hpp"
#include "sweep/answers/scatter.hpp"

namespace lacuna::sweep {

namespace {

constexpr double kWidth = 880;
constexpr double kHeight = 560;
constexpr double kLeft = 70;
constexpr double kRight = 24;
constexpr double kTop = 74;
constexpr double kBottom = 62;

std::string xml_text(std::string_view text) {
  std::string safe;
  for (const char c : escape_controls(text)) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// The colours of the report's page (web/src/style.css).
std::string_view model_colour(std::string_view model) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kColours = {{
      {"dense", "#6b7280"},
      {"tensordash", "#0072b2"},
      {"ant", "#d55e00"},
      {"scnn", "#e69f00"},
      {"cnvlutin", "#009e73"},
      {"sparten", "#cc79a7"},
      {"structured-2of4", "#8c6d1f"},
  }};
  const auto* found =
      std::ranges::find(kColours, model, &std::pair<std::string_view, std::string_view>::first);
  return found == kColours.end() ? "#2f3b47" : found->second;
}

struct Frame {
  Axis x_axis, y_axis;

  double x(double value) const { return kLeft + x_axis.place(value) * (kWidth - kLeft - kRight); }
  double y(double value) const {
    return kHeight - kBottom - y_axis.place(value) * (kHeight - kTop - kBottom);
  }
};

std::string axes_svg(const Frame& frame, const Scatter& scatter) {
  std::string svg;
  const double bottom = kHeight - kBottom;
  for (const double tick : frame.x_axis.ticks) {
    const double x = frame.x(tick);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x, kTop, bottom, bottom + 20, tick_text(tick));
  }
  for (const double tick : frame.y_axis.ticks) {
    const double y = frame.y(tick);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, y, kWidth - kRight, kLeft - 10, y + 4, tick_text(tick));
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 16, xml_text(scatter.x_title));
  svg += fmt::format("<text x=\"16\" y=\"{}\">{}</text>\n", kTop - 14, xml_text(scatter.y_title));
  return svg;
}

// One mark per series and cell of two by two, fewer than pixels whatever the number of designs.
std::string cloud_svg(const Frame& frame, const Scatter& scatter) {
  std::string svg;
  std::set<std::tuple<std::string, int, int>> drawn;
  for (const ScatterPoint& point : scatter.points) {
    if (point.front) continue;
    const double x = frame.x(point.x);
    const double y = frame.y(point.y);
    if (!drawn.emplace(point.series, static_cast<int>(x / 2), static_cast<int>(y / 2)).second) continue;
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" fill-opacity=\"0.35\"/>\n",
                       x, y, model_colour(point.model));
  }
  return svg;
}

std::string front_svg(const Frame& frame, const Scatter& scatter) {
  std::vector<const ScatterPoint*> front;
  for (const ScatterPoint& point : scatter.points) {
    if (point.front) front.push_back(&point);
  }
  // From the best x to the worst: along x while nothing better in y is known, then to it.
  if (scatter.x_maximise) std::ranges::reverse(front);
  std::string path;
  std::string dots;
  for (const ScatterPoint* point : front) {
    const double x = frame.x(point->x);
    const double y = frame.y(point->y);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format("H{:.1f}V{:.1f}", x, y);
    dots += fmt::format(
        "<circle class=\"front\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" "
        "fill=\"{}\"><title>{}</title></circle>\n",
        x, y, model_colour(point->model), xml_text(point->text));
  }
  return fmt::format("<path class=\"step\" d=\"{}\"/>\n{}", path, dots);
}

std::string legend_svg(const Scatter& scatter) {
  std::vector<std::pair<std::string, std::string>> series;
  for (const ScatterPoint& point : scatter.points) {
    const std::pair one(point.series, point.model);
    if (std::ranges::find(series, one) == series.end()) series.push_back(one);
  }
  constexpr std::size_t kMost = 8;
  std::string svg;
  double x = kWidth - kRight;
  // From the right edge to the left; a character is about seven wide.
  for (std::size_t i = std::min(series.size(), kMost); i-- > 0;) {
    const std::string name = one_line(series[i].first, 24);
    x -= 7.0 * static_cast<double>(display_width(name)) + 26;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{}\" r=\"5\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n", x,
        kTop - 18, model_colour(series[i].second), x + 10, kTop - 14, xml_text(name));
  }
  return svg;
}

}  // namespace

std::string scatter_svg(const Scatter& scatter) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const ScatterPoint& point : scatter.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  const Frame frame{nice_axis(xs, 8), nice_axis(ys, 6)};
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#56606d\" role=\"img\">\n"
      "<title>{2}</"
      "title>\n<style>.grid{{stroke:#e4e8ec;fill:none}}.step{{stroke:#17202a;stroke-width:1.6;fill:none}}"
      ".front{{stroke:#fff;stroke-width:1.4}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<text x=\"16\" y=\"30\" font-size=\"18\" font-weight=\"600\" fill=\"#17202a\">{2}</text>\n",
      kWidth, kHeight, xml_text(scatter.title));
  svg +=
      axes_svg(frame, scatter) + cloud_svg(frame, scatter) + front_svg(frame, scatter) + legend_svg(scatter);
  return svg + "</svg>\n";
}

}  // namespace lacuna::sweep
