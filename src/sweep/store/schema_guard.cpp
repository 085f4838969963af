#include "sweep/store/schema_guard.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

// Without comments, and with single blanks. Our text has no quotes in tables, so one that hides "--" differs.
std::string plain_text(std::string_view sql) {
  std::string text;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql.substr(i).starts_with("--")) i = sql.find('\n', i);
    if (i == sql.npos) break;
    if (std::isspace(static_cast<unsigned char>(sql[i])) == 0) {
      text += sql[i];
    } else if (!text.ends_with(' ')) {
      text += ' ';
    }
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// A table's definitions, and what stands around them as one of them.
std::set<std::string> definitions(std::string_view sql) {
  const std::string text = plain_text(sql);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return {text};
  std::set<std::string> parts{text.substr(0, open) + "()" + text.substr(close + 1)};
  int depth = 0;
  std::string part;
  const auto end_part = [&] {
    const std::size_t begin = std::min(part.find_first_not_of(' '), part.size());
    parts.insert(part.substr(begin, part.find_last_not_of(' ') + 1 - begin));
    part.clear();
  };
  for (const char c : std::string_view(text).substr(open + 1, close - open - 1)) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      end_part();
    } else {
      part += c;
    }
  }
  end_part();
  return parts;
}

// "effectual_macs INTEGER"
bool is_plain_column(std::string_view definition) {
  const std::size_t blank = definition.find(' ');
  if (blank == 0 || blank == definition.npos) return false;
  const std::string_view type = definition.substr(blank + 1);
  return (type == "INTEGER" || type == "REAL" || type == "TEXT") &&
         std::ranges::all_of(definition.substr(0, blank), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool same_table(const std::string& a, const std::string& b) {
  const std::set<std::string> left = definitions(a), right = definitions(b);
  std::vector<std::string> differences;
  std::ranges::set_symmetric_difference(left, right, std::back_inserter(differences));
  return std::ranges::all_of(differences, is_plain_column);
}

// Indexes that SQLite makes for UNIQUE, and what ANALYZE leaves: nobody else can create objects of such
// names.
bool is_internal(const SchemaObject& object) {
  return (object.type == "index" && object.sql.empty() && object.name.starts_with("sqlite_autoindex_")) ||
         (object.type == "table" && object.name.starts_with("sqlite_stat"));
}

}  // namespace

std::vector<SchemaObject> schema_objects(const Sqlite& connection) {
  std::vector<SchemaObject> objects;
  Statement rows =
      connection.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY name");
  while (rows.step()) objects.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3)});
  return objects;
}

void check_objects(const Sqlite& connection, const std::vector<SchemaObject>& ours, bool with_views) {
  for (const SchemaObject& object : schema_objects(connection)) {
    if (is_internal(object)) continue;
    const std::string what = fmt::format("its {} {}", one_line(object.type, 20), quote_name(object.name));
    const auto own = std::ranges::find_if(ours, [&](const SchemaObject& one) {
      return one.type == object.type && one.name == object.name && one.table == object.table;
    });
    if (own == ours.end())
      throw InputError(connection.file(), what + " is not one of lacuna's", "drop it, or name another file");
    if (object.type == "view" && !with_views) continue;
    const bool same = object.type == "table" ? same_table(object.sql, own->sql) : object.sql == own->sql;
    if (same) continue;
    throw InputError(connection.file(), what + " is not as this version of lacuna makes it",
                     "run 'lacuna sweep PLAN.yaml -o FILE' on it, which renews views, or name another file");
  }
}

}  // namespace lacuna::sweep
