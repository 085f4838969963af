#include "base/text/quote.hpp"

#include <fmt/format.h>

namespace lacuna {

std::string escape_controls(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string one_line(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return escape_controls(text);
  // Not in the middle of a UTF-8 sequence.
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return escape_controls(text.substr(0, longest)) + "...";
}

std::string quote_name(std::string_view name) { return fmt::format("'{}'", one_line(name)); }

}  // namespace lacuna
