// Cells of CSV [RFC 4180].
#pragma once

#include <string>
#include <string_view>

namespace lacuna {

inline std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace lacuna
