// Untrusted text, made safe for a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lacuna {

// Replaces control characters by \xNN.
std::string escape_controls(std::string_view text);

// Also cuts the text to `longest` bytes and "..." if it is longer.
std::string one_line(std::string_view text, std::size_t longest = 80);

// Returns one_line() in single quotes, as messages show names and values of a file.
std::string quote_name(std::string_view name);

}  // namespace lacuna
