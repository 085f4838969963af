// The tables and views of a file of results. docs/sweep.md describes them for those who read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/store/records.hpp"

namespace lacuna::sweep {

// PRAGMA user_version. Columns of results come and go without a new version (migrate()).
inline constexpr int kSchemaVersion = 1;
// PRAGMA application_id, "LACN": distinguishes files of results from other databases.
inline constexpr int kApplicationId = 0x4c41434e;

// A number of the view `points` and, if it can be summed over traces, of `by_network`.
struct MetricColumn {
  std::string name;
  std::string unit;
  std::string of_point;    // SQL over results r and designs d
  std::string of_network;  // SQL over a group of points; empty: none
};
const std::vector<MetricColumn>& metric_columns();
// Returns true for columns of the views that identify a row, not measure it.
bool is_identity_column(std::string_view name);
// Returns true if the views may have a column for a parameter of this name; others are in `configuration`.
bool is_parameter_column(const std::string& name);

// "INSERT INTO table (a, b) VALUES (?1, ?2)"; `verb` may be "INSERT OR IGNORE".
std::string insert_sql(std::string_view verb, std::string_view table, const std::vector<std::string>& names);
template <typename Record>
std::vector<std::string> column_names(std::vector<std::string> names = {}) {
  Record record;
  each_column(record, [&](const auto& column, const auto&) { names.emplace_back(column.name); });
  return names;
}

// Creates the tables in an empty file and adds columns of results that an older program did not know. Throws
// InputError for a database that is not ours, or is of a later version.
void migrate(const Sqlite& connection);
// Throws InputError unless the file is one of results of this schema, with nothing else in it.
enum class ForeignViews { kRefused, kReplaced };  // those of another version: replaced by who writes
void check_schema(const Sqlite& connection, ForeignViews views = ForeignViews::kRefused);

// Replaces the views, with one column per parameter that any plan varies.
void create_views(const Sqlite& connection);

}  // namespace lacuna::sweep
