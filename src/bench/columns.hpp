// Tables for a person and CSV for programs from one list of columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"

namespace lacuna::bench {

template <typename Row>
struct Column {
  TableColumn heading;
  std::function<std::string(const Row&)> cell;
};

template <typename Row>
std::string render_table(const std::vector<Row>& rows, const std::vector<Column<Row>>& columns,
                         const TextStyle& style) {
  std::vector<TableColumn> headings;
  for (const Column<Row>& column : columns) headings.push_back(column.heading);
  TextTable table(std::move(headings));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Column<Row>& column : columns) cells.push_back(column.cell(row));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

// Cells are written as they are: quote text with csv_text().
template <typename Row>
std::string render_csv(const std::vector<Row>& rows, const std::vector<Column<Row>>& columns) {
  std::string text;
  for (const Column<Row>& column : columns) text += (text.empty() ? "" : ",") + column.heading.title;
  text += '\n';
  for (const Row& row : rows) {
    const char* separator = "";
    for (const Column<Row>& column : columns) {
      text += separator + column.cell(row);
      separator = ",";
    }
    text += '\n';
  }
  return text;
}

}  // namespace lacuna::bench
