#include "sweep/store/export.hpp"

#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/csv_text.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "base/version.hpp"
#include "report/result/json_text.hpp"

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
  std::string text;
  for (int i = 0; i < rows.columns(); ++i)
    text += fmt::format("{}{}", i > 0 ? "," : "", csv_text(rows.name(i)));
  text += '\n';
  while (rows.step()) {
    for (int i = 0; i < rows.columns(); ++i) {
      if (i > 0) text += ',';
      if (rows.is_null(i)) continue;
      text += rows.is_number(i) ? json_number(rows.number(i)) : csv_text(rows.text(i));
    }
    text += '\n';
  }
  return text;
}

std::string export_json(const Reader& results, const std::string& view) {
  Statement rows = rows_of(results, view);
  std::string text = fmt::format("{{\n  \"schema\": 1,\n  \"lacuna\": {},\n  \"view\": {},\n  \"rows\": [",
                                 json_string(version()), json_string(view));
  bool first = true;
  while (rows.step()) {
    JsonLine line;
    for (int i = 0; i < rows.columns(); ++i) {
      const std::string name = rows.name(i);
      if (rows.is_null(i)) {
        line.raw(name, "null");
      } else if (rows.is_number(i)) {
        line.field(name, rows.number(i));
      } else if (name == "configuration") {
        line.raw(name, rows.text(i));  // JSON itself
      } else {
        line.field(name, std::string_view(rows.text(i)));
      }
    }
    text += fmt::format("{}\n    {}", first ? "" : ",", line.text());
    first = false;
  }
  return text + "\n  ]\n}\n";
}

}  // namespace lacuna::sweep
