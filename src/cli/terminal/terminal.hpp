// Output for a person: standard output, with every failure noticed, and colour where it is
// wanted.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "base/text/text_table.hpp"

namespace lacuna::cli {

// The reader of our output has gone (`lacuna ... | head`). main() ends without a word.
struct BrokenPipe {};

// Opens /dev/null for each of standard input, output and error that is closed. Otherwise the next file that
// is opened gets its number, and what is meant for the console ends in that file. main() calls it first.
void open_standard_streams();

// Writes to standard output. Throws BrokenPipe, or InputError where it cannot be written (a full disk).
void print_text(std::string_view text);
void flush_output();

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_text(fmt::format(format, std::forward<Args>(args)...));
}

// One line on standard error, "lacuna: " in front; control characters are made visible. Never throws.
void print_error(std::string_view message) noexcept;

// True if the stream is a terminal that shows colour: NO_COLOR is not set and TERM is not "dumb".
bool has_colour(std::FILE* stream);

// The text in single quotes, as a shell takes it back. In fish a backslash counts inside them as well.
std::string shell_quote(std::string_view text, bool fish = false);

// Style of tables on standard output: in colour, with bars where the terminal shows UTF-8, and as wide as it
// is; or plain in a pipe.
TextStyle output_style();

}  // namespace lacuna::cli
