// Numbers written as text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lacuna {

// Parses all of `text` as a number in the C locale: no blanks, no leading '+', nothing after it. Returns
// nothing if it is not a number or does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace lacuna
