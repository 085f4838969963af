// The tables and views of a file of results. docs/sweep.md describes them for those who read them.
#pragma once

#include <string>
#include <vector>

#include "sweep/store/sqlite.hpp"

namespace lacuna::sweep {

// PRAGMA user_version. A change of tables raises it and adds a step to migrate().
inline constexpr int kSchemaVersion = 1;
// PRAGMA application_id, "LACN": what tells files of results from other databases.
inline constexpr int kApplicationId = 0x4c41434e;

// Creates the tables in an empty file, or brings those of an older version up to date. Throws InputError for
// a database that is not ours, or is of a later version.
void migrate(const Sqlite& connection);
// Throws InputError unless the file is one of results of this schema; for those who only read.
void check_schema(const Sqlite& connection);

// Whether the views have a column for a parameter of this name; others are in `configuration` alone.
bool is_parameter_column(const std::string& name);
// Makes the views anew, with one column per parameter that any plan varies.
void create_views(const Sqlite& connection, const std::vector<std::string>& parameters);

}  // namespace lacuna::sweep
