// Aligned tables of plain text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/quote.hpp"

namespace lacuna {

enum class Align { kLeft, kRight };

// Style of tables. The default suits a file or a pipe.
struct TextStyle {
  bool colour = false;  // ANSI escapes for titles
  int width = 100;      // columns of the terminal, to which wider tables are folded
  bool bars = false;    // bar_text() next to numbers that are compared
};

struct TableColumn {
  std::string title;
  Align align = Align::kRight;
  // Columns next to each other with the same group stand under one heading. Columns without a group lead the
  // rows: where a table is too wide, titles and texts are wrapped at blanks, then its groups (without any:
  // its numbers) continue below, and the leading columns are repeated.
  std::string group = {};
};

class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns);

  void add_row(std::vector<std::string> cells);  // as many as there are columns
  void add_rule();                               // a line between the rows before and after
  std::string render(const TextStyle& style) const;

 private:
  using Columns = std::vector<std::size_t>;

  std::size_t width_of(const Columns& columns, const Columns& widths) const;
  // Narrows the texts of `columns`, the widest first, until they take `room` or cannot be narrower.
  void wrap_texts(const Columns& columns, std::size_t room, Columns& widths) const;
  std::string render_columns(const Columns& columns, const Columns& widths, const TextStyle& style) const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;  // empty: a rule
  Columns widths_;                              // of the widest cell
  Columns words_;                               // of the longest word of a cell
};

// Lines of at most `width` columns, broken at blanks; a longer word has a line of its own. At least one line.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width);

// Columns that the text takes on a terminal (UTF-8 characters, one column each).
std::size_t display_width(std::string_view text);
// 12345678 -> "12,345,678"
std::string grouped_digits(std::int64_t value);
// "1 thread", "1,200 threads"
std::string counted(std::int64_t count, std::string_view noun);
// The nearest integer, likewise.
std::string rounded_digits(double value);
// "2.24"; small ones keep a digit: "0.034", "0.004"; "-" for what is not a number
std::string ratio_text(double ratio);
// The same of a quotient, "-" where there is nothing to divide by
std::string ratio_text(double numerator, double denominator);
// "12 s", "3:05 min", "2:10 h"
std::string duration_text(double seconds);

std::string bold_text(std::string_view text, const TextStyle& style);
std::string dim_text(std::string_view text, const TextStyle& style);

// Returns a bar of `columns` block characters for the largest value, in eighths of a column: at least one
// eighth for a positive value, empty otherwise and for NaN.
std::string bar_text(double value, double largest, std::size_t columns = 12);

}  // namespace lacuna
