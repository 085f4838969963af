// CSV [RFC 4180]: small tables that are read, rows that are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

// Returns a cell, in quotes where it needs them. Spreadsheets run a cell that begins with = + - or @: it gets
// a single quote in front, which they take for "this is text", unless it is a number.
std::string csv_text(std::string_view text);
// Cells keep such beginnings from now on, for programs that read them.
void keep_csv_formulas();

// A row that is written cell by cell.
class CsvRow {
 public:
  CsvRow& text(std::string_view value) { return add(csv_text(value)); }
  // Writes an integer where the value is one; an empty cell if it is not finite.
  CsvRow& number(double value);
  CsvRow& number(std::int64_t value) { return number(static_cast<double>(value)); }
  CsvRow& number(std::optional<double> value) { return value ? number(*value) : empty(); }
  CsvRow& empty(std::size_t count = 1);
  // Adds the cells of another row.
  CsvRow& cells(const CsvRow& other);
  std::string line() const { return line_.substr(1) + '\n'; }

 private:
  CsvRow& add(const std::string& cell);

  std::string line_;  // a separator before every cell
};

// A small table with notes in front: the `layers.csv` of a folder of arrays.
struct CsvTable {
  struct Row {
    int line = 0;
    std::vector<std::string> cells;
  };
  std::vector<std::pair<std::string, std::string>> notes;  // "# key = value" lines
  std::vector<std::string> columns;
  std::vector<Row> rows;

  // Commas, optional double quotes ("" is a quote), blank lines ignored, blanks around cells dropped. Every
  // row has as many cells as the first line. Throws InputError; `where` starts the message.
  static CsvTable parse(std::string_view text, const std::string& where);
};

}  // namespace lacuna
