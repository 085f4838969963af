// The schema of a file from elsewhere, compared with our own text before a query runs on it.
#pragma once

#include <string>
#include <vector>

#include "sweep/store/sqlite.hpp"

namespace lacuna::sweep {

struct SchemaObject {
  std::string type;  // table, index, view, trigger
  std::string name;
  std::string table;  // that it belongs to
  std::string sql;    // empty: SQLite's own
};
// Returns the objects of a database, ordered by name.
std::vector<SchemaObject> schema_objects(const Sqlite& connection);

// Throws InputError for tables, views and indexes that are not among `ours`, for any trigger, and for text
// that differs from ours. Tables may have more or fewer columns that are only "name TYPE": counts come and go
// with versions of the program. Views are compared if `with_views`; else the caller replaces them.
void check_objects(const Sqlite& connection, const std::vector<SchemaObject>& ours, bool with_views);

}  // namespace lacuna::sweep
