// Results for a person and for programs: tables from columns, JSON and CSV from one list of fields.
#pragma once

#include <fmt/format.h>
#include <functional>
#include <string>
#include <vector>

#include "base/text/csv.hpp"
#include "base/text/json.hpp"
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

template <typename Row>
struct Field {
  std::string name;
  // Null: not known, absent in JSON and empty in CSV.
  std::function<Json(const Row&)> value;
  const char* csv_number = "{}";  // how CSV writes a fraction: "{:.4f}"
  bool in_json = true;
};

// Adds the fields of a row to an object.
template <typename Row>
void add_json(Json& object, const Row& row, const std::vector<Field<Row>>& fields) {
  for (const Field<Row>& field : fields)
    if (Json value = field.value(row); field.in_json && !value.is_null())
      object[field.name] = std::move(value);
}

template <typename Row>
std::string render_csv(const std::vector<Row>& rows, const std::vector<Field<Row>>& fields) {
  std::vector<std::string> cells;
  for (const Field<Row>& field : fields) cells.push_back(field.name);
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  for (const Row& row : rows) {
    cells.clear();
    for (const Field<Row>& field : fields) {
      const Json value = field.value(row);
      cells.push_back(value.is_null()      ? ""
                      : value.is_string()  ? csv_text(value.template get<std::string>())
                      : value.is_boolean() ? (value.template get<bool>() ? "1" : "0")
                      : value.is_number_float()
                          ? fmt::format(fmt::runtime(field.csv_number), value.template get<double>())
                          : value.dump());
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace lacuna::bench
