#include "base/text/text_bar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace lacuna {

std::string bar_text(double value, double largest, std::size_t columns) {
  // U+2588 down to U+258F: a full block, seven eighths, ... one eighth.
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(value > 0) || !(largest > 0) || std::isinf(largest)) return "";
  const double share = std::min(1.0, value / largest);
  const auto eighths = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(share * static_cast<double>(8 * columns))));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text;
}

}  // namespace lacuna
