// Untrusted text, made safe for a terminal and a one-line message. What counts as unsafe is decided here, for
// errors, tables and results alike: control characters (those of ISO 8859 among them), the line ends of
// Unicode, marks that change the direction of writing, and bytes that are not UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lacuna {

// Replaces what is unsafe by \xNN, a byte, or \uNNNN, a character.
std::string escape_controls(std::string_view text);

// Replaces each unsafe character by '?'.
std::string printable(std::string_view text);
// The same of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);

// Also cuts the text to `longest` bytes and "..." if it is longer.
std::string one_line(std::string_view text, std::size_t longest = 80);

// Returns one_line() in single quotes, as messages show names and values of a file.
std::string quote_name(std::string_view name);

}  // namespace lacuna
