// A small CSV table: the `layers.csv` of a folder of arrays.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

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
