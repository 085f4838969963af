#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/csv.hpp"
#include "base/text/json.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {
namespace {

// Names of views cannot be bound, so they are those of a list.
Statement rows_of(const Reader& results, const std::string& view) {
  constexpr std::array kOrders{std::pair{"points", "point"}, std::pair{"by_network", "network, design"},
                               std::pair{"pareto", "network, program, area_mm2"},
                               std::pair{"operations", "point"},
                               std::pair{"failures", "machine, parameters, trace"}};
  std::vector<std::string> names;
  for (const auto& [name, order] : kOrders) {
    if (view == name) return results.prepare(fmt::format("SELECT * FROM {} ORDER BY {}", name, order));
    names.emplace_back(name);
  }
  throw InputError("--view", fmt::format("there is no view {}", quote_name(view)), suggest(view, names));
}

}  // namespace

std::string export_csv(const Reader& results, const std::string& view) {
  Statement rows = rows_of(results, view);
  CsvRow names;
  for (int i = 0; i < rows.columns(); ++i) names.text(rows.name(i));
  std::string text = names.line();
  while (rows.step()) {
    CsvRow row;
    for (int i = 0; i < rows.columns(); ++i) {
      rows.is_number(i) ? row.number(rows.number(i)) : row.text(rows.text(i));
    }
    text += row.line();
  }
  return text;
}

std::string export_json(const Reader& results, const std::string& view) {
  Json document = json_document(1);
  document["view"] = view;
  Json& list = document["rows"] = Json::array();
  for (Statement rows = rows_of(results, view); rows.step();) {
    Json& row = list.emplace_back(Json::object());
    for (int i = 0; i < rows.columns(); ++i) {
      Json& cell = row[rows.name(i)];
      if (rows.is_number(i)) {
        cell = number_json(rows.number(i));
      } else if (!rows.is_null(i)) {
        cell =
            rows.name(i) == "configuration" ? Json::parse(rows.text(i), nullptr, false) : Json(rows.text(i));
      }
    }
  }
  return dump_json(document);
}

}  // namespace lacuna::sweep
