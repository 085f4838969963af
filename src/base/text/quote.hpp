// Text that comes from outside, made safe for a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lacuna {

// Control characters become \xNN.
std::string escape_controls(std::string_view text);

// The same, cut to `longest` bytes and "..." if it is longer.
std::string one_line(std::string_view text, std::size_t longest = 80);

// one_line() in single quotes: how messages show names and values of a file.
std::string quote_name(std::string_view name);

}  // namespace lacuna
