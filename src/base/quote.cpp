#include "base/quote.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lacuna {

std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::size_t length = std::min(name.size(), kLongest);
  // Not in the middle of a UTF-8 sequence.
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80)
    --length;
  std::string text = "'";
  for (const char c : name.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  if (length < name.size()) text += "...";
  return text + "'";
}

}  // namespace lacuna
