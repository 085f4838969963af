#include "sweep/store/checksums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/text/quote.hpp"
#include "sweep/store/schema.hpp"

namespace lacuna::sweep {
namespace {

constexpr const char* kChecksum = "checksum";

// A table, and what its rows point to: a column and the expression that names the other row.
struct CheckedTable {
  const char* name;
  const char* joins;
  std::vector<std::pair<std::string, std::string>> keys;
  const char* place;  // SQL that tells the user which row
};
const std::array kTables{
    CheckedTable{"traces", "", {}, "x.name"},
    CheckedTable{"layers", "LEFT JOIN traces t ON t.id = x.trace", {{"trace", "t.sha256"}}, "x.layer"},
    CheckedTable{"designs",
                 "LEFT JOIN programs p ON p.id = x.program",
                 {{"program", "p.version || '/' || p.results_version"}},
                 "x.id"},
    CheckedTable{"results",
                 "LEFT JOIN designs d ON d.id = x.design LEFT JOIN traces t ON t.id = x.trace",
                 {{"design", "d.key"}, {"trace", "t.sha256"}},
                 "x.id"},
    CheckedTable{
        "operation_results", "LEFT JOIN results r ON r.id = x.point", {{"point", "r.key"}}, "x.point"}};

std::uint64_t hash_cell(std::string_view column, const Cell& cell) {
  std::uint64_t hash = hash_text(column);
  if (const auto* text = std::get_if<std::string>(&cell))
    return hash_bytes({reinterpret_cast<const std::uint8_t*>(text->data()), text->size()}, hash + 1);
  std::uint64_t bits = 0;
  if (const auto* number = std::get_if<double>(&cell)) {
    if (!std::isfinite(*number)) return 0;  // stored as NULL
    bits = std::bit_cast<std::uint64_t>(*number + 0.0);
  } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    const auto real = static_cast<double>(*integer);
    const bool exact = real < 0x1p63 && static_cast<std::int64_t>(real) == *integer;
    bits = exact ? std::bit_cast<std::uint64_t>(real) : static_cast<std::uint64_t>(*integer);
  } else {
    return 0;
  }
  std::array<std::uint8_t, sizeof(bits)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  return hash_bytes(bytes, hash);
}

[[noreturn]] void fail(const Sqlite& connection, const CheckedTable& table, const std::string& row,
                       std::string_view cause) {
  throw InputError(connection.file(), fmt::format("row {} of its table {} {}", row, table.name, cause),
                   "the file is damaged: take a copy of it, or compute it again into another file");
}

void check_table(const Sqlite& connection, const CheckedTable& table) {
  std::string keys;
  for (const auto& [column, expression] : table.keys) keys += fmt::format("{}, ", expression);
  Statement rows = connection.prepare(
      fmt::format("SELECT {0}, {1}x.* FROM {2} x {3}", table.place, keys, table.name, table.joins));
  const int first = 1 + static_cast<int>(table.keys.size());
  const int checksum = rows.column(kChecksum);
  std::vector<std::string> columns;
  std::vector<int> places;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    columns.push_back(table.keys[i].first);
    places.push_back(1 + static_cast<int>(i));
  }
  for (int i = first; i < rows.columns(); ++i) {
    const std::string name = rows.name(i);
    const bool is_key = std::ranges::find(columns.begin(), columns.begin() + (first - 1), name) !=
                        columns.begin() + (first - 1);
    if (name == "id" || name == kChecksum || is_key) continue;
    columns.push_back(name);
    places.push_back(i);
  }
  std::vector<Cell> cells(columns.size());
  while (rows.step()) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = rows.cell(places[i]);
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      if (std::holds_alternative<std::monostate>(cells[i]))
        fail(connection, table, rows.text(0), fmt::format("points to no {}", columns[i]));
    }
    if (checksum < 0 || rows.is_null(checksum)) continue;
    if (rows.integer(checksum) != row_checksum(columns, cells))
      fail(connection, table, rows.text(0), "was changed: its checksum does not match");
  }
}

}  // namespace

std::int64_t row_checksum(std::span<const std::string> columns, std::span<const Cell> cells) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) sum += hash_cell(columns[i], cells[i]);
  return static_cast<std::int64_t>(sum);
}

CheckedInsert::CheckedInsert(const Sqlite& connection, std::string_view verb, std::string_view table,
                             std::vector<std::string> columns)
    : columns_(std::move(columns)), statement_(connection.prepare([&] {
        std::vector<std::string> all = columns_;
        all.emplace_back(kChecksum);
        return insert_sql(verb, table, all);
      }())) {}

void CheckedInsert::run(std::vector<Cell> cells, const std::vector<Cell>& keys) {
  std::vector<Cell> named = cells;
  std::ranges::copy(keys, named.begin());
  cells.emplace_back(row_checksum(columns_, named));
  statement_.bind_all(cells).finish();
}

void check_rows(const Sqlite& connection, bool operations) {
  const std::string state = connection.text("PRAGMA integrity_check(1)");
  if (state != "ok")
    throw InputError(connection.file(), "the database is damaged: " + one_line(state),
                     "take a copy of it, or recover it with 'sqlite3 FILE .recover'");
  for (const CheckedTable& table : kTables) {
    const bool of_operations = std::string_view(table.name) == "operation_results";
    if (operations || !of_operations) check_table(connection, table);
  }
}

}  // namespace lacuna::sweep
