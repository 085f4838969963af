#include "sweep/store/export.hpp"

#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/csv_text.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/store/json_rows.hpp"

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
  const auto add_line = [&](const auto& cell_text) {
    for (int i = 0; i < rows.columns(); ++i) text += (i > 0 ? "," : "") + cell_text(i);
    text += '\n';
  };
  add_line([&](int i) { return csv_text(rows.name(i)); });
  while (rows.step()) {
    add_line([&](int i) {
      if (rows.is_null(i)) return std::string();
      return rows.is_number(i) ? fmt::format("{}", rows.number(i)) : csv_text(rows.text(i));
    });
  }
  return text;
}

std::string export_json(const Reader& results, const std::string& view) {
  Statement rows = rows_of(results, view);
  JsonRows lines;
  while (rows.step()) {
    Json line;
    for (int i = 0; i < rows.columns(); ++i) {
      const std::string name = rows.name(i);
      Json& cell = line[name];
      if (rows.is_null(i)) continue;
      if (rows.is_number(i)) {
        cell = number_json(rows.number(i));
      } else {
        cell = name == "configuration" ? Json::parse(rows.text(i), nullptr, false) : Json(rows.text(i));
      }
    }
    lines.add(line);
  }
  return lines.document("rows", {{"view", view}});
}

}  // namespace lacuna::sweep
