// Short texts for the cells of tables.
#pragma once

#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_table.hpp"

namespace lacuna {

// "1.23 G": four digits and a unit say more in a table than twelve digits.
inline std::string short_number(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [scale, unit] : kUnits) {
    if (value >= scale) return fmt::format("{:.4g}{}", value / scale, unit);
  }
  return fmt::format("{:.0f}", value);
}

// The last part of a path.
inline std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Columns of numbers under one heading.
struct ColumnGroup {
  std::string heading;
  std::vector<std::string> titles;
};
inline std::vector<TableColumn> with_groups(std::vector<TableColumn> columns,
                                            const std::vector<ColumnGroup>& groups) {
  for (const auto& [heading, titles] : groups) {
    for (const std::string& title : titles) columns.push_back({title, Align::kRight, heading});
  }
  return columns;
}

inline std::string percent_text(double share) { return fmt::format("{:.1f}", share * 100); }

}  // namespace lacuna
