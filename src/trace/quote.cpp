#include "trace/quote.hpp"

#include <fmt/format.h>

namespace lacuna {

std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::string text = "'";
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  if (name.size() > kLongest) text += "...";
  return text + "'";
}

}  // namespace lacuna
