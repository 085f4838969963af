#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/csv.hpp"
#include "base/text/json.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/store/checksums.hpp"
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
  if (view == "operations") check_rows(results.connection(), true);
  for (const auto& [name, order] : kOrders) {
    if (view == name) return results.prepare(fmt::format("SELECT * FROM {} ORDER BY {}", name, order));
    names.emplace_back(name);
  }
  throw InputError("--view", fmt::format("there is no view {}", quote_name(view)), suggest(view, names));
}

// A configuration is JSON inside of a row.
Json configuration_json(const Reader& results, const std::string& text) {
  return Json(parse_untrusted_json(text, results.file(), "the configuration of a design"));
}

}  // namespace

void export_csv(const Reader& results, const std::string& view, const TextSink& sink) {
  Statement rows = rows_of(results, view);
  CsvRow names;
  for (int i = 0; i < rows.columns(); ++i) names.text(rows.name(i));
  sink(names.line());
  while (rows.step()) {
    CsvRow row;
    for (int i = 0; i < rows.columns(); ++i) {
      rows.is_number(i) ? row.number(rows.number(i)) : row.text(rows.text(i));
    }
    sink(row.line());
  }
}

void export_json(const Reader& results, const std::string& view, const TextSink& sink) {
  Json document = json_document(1);
  document["view"] = view;
  document["rows"] = Json::array();
  // The text of a document without rows, up to the bracket that closes them.
  const std::string empty = dump_json(document);
  const std::size_t end = empty.rfind(']');
  sink(std::string_view(empty).substr(0, end));
  const char* before = "\n  ";  // one line per row
  for (Statement rows = rows_of(results, view); rows.step();) {
    Json row = Json::object();
    for (int i = 0; i < rows.columns(); ++i) {
      const std::string name = rows.name(i);
      Json& cell = row[name];
      if (rows.is_number(i)) {
        cell = number_json(rows.number(i));
      } else if (!rows.is_null(i)) {
        cell = name == "configuration" ? configuration_json(results, rows.text(i)) : Json(rows.text(i));
      }
    }
    sink(before + row.dump(-1, ' ', false, Json::error_handler_t::replace));
    before = ",\n  ";
  }
  sink(*before == ',' ? "\n " : "");
  sink(std::string_view(empty).substr(end));
}

}  // namespace lacuna::sweep
