#include "sweep/store/sqlite.hpp"

#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <sqlite3.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

// How long to wait for another process that writes, in milliseconds.
constexpr int kWaitForOthers = 10'000;

std::string_view remedy_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "free some space and run the same command again: what is stored stays";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "check that the file and its folder can be written, or name another file";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program is using the file: wait for it to end, or name another file";
    case SQLITE_NOTADB:
      return "this is not a file of results: name another one";
    case SQLITE_CORRUPT:
      return "the file is damaged: recover it with 'sqlite3 FILE .recover', or name another file";
    case SQLITE_IOERR:
      return "check the disk and run the same command again: what is stored stays";
    default:
      return "check the query; docs/sweep.md describes tables and views";
  }
}

// A file with a write-ahead log cannot be read in a folder that cannot be written, unless SQLite is told that
// nobody changes it; a log next to it would say that somebody does.
std::string read_only_name(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  if (::access(folder.c_str(), W_OK) == 0 || std::filesystem::exists(file.string() + "-wal", ignored)) {
    return file.string();
  }
  std::string uri = "file:";
  for (const char c : file.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Sqlite& connection, std::string_view sql) : connection_(&connection) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection.connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) connection_->fail(code);
}

Statement& Statement::bind_all(std::span<const Cell> cells) {
  reset();
  sqlite3_stmt* const statement = statement_.get();
  for (int place = 1; place <= static_cast<int>(cells.size()); ++place) {
    const Cell& cell = cells[static_cast<std::size_t>(place - 1)];
    if (const auto* text = std::get_if<std::string>(&cell)) {
      const auto bytes = static_cast<int>(text->size());
      check(sqlite3_bind_text(statement, place, text->data(), bytes, SQLITE_TRANSIENT));
    } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      check(sqlite3_bind_int64(statement, place, *integer));
    } else if (const auto* number = std::get_if<double>(&cell); number != nullptr && std::isfinite(*number)) {
      check(sqlite3_bind_double(statement, place, *number));
    } else {
      check(sqlite3_bind_null(statement, place));
    }
  }
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    connection_->fail(code);
  }
  return code == SQLITE_ROW;
}

void Statement::finish() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }

std::string Statement::name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name == nullptr ? "" : name;
}

int Statement::column(std::string_view name) const {
  for (int i = 0; i < columns(); ++i) {
    if (this->name(i) == name) return i;
  }
  return -1;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

bool Statement::is_number(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::number(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Sqlite::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

Sqlite::Sqlite(const std::filesystem::path& file, Access access) : file_(file.string()) {
  const std::string name = access == Access::kRead ? read_only_name(file) : file_;
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (name != file_) flags |= SQLITE_OPEN_URI;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (connection == nullptr) throw std::bad_alloc();
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kWaitForOthers);
  // A file may come from anywhere: its schema must not change anything outside it.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  integer("PRAGMA schema_version");  // reads the file, and so fails if it is not a database
}

void Sqlite::fail(int code) const {
  // The connection's message says more than the code, but a name from outside may be in it.
  throw InputError(file_, one_line(sqlite3_errmsg(connection_.get()), 300), remedy_of(code));
}

void Sqlite::execute(std::string_view sql) const {
  const std::string text(sql);
  const int code = sqlite3_exec(connection_.get(), text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::string Sqlite::text(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.text(0) : std::string();
}

std::int64_t Sqlite::last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }

// Ignores errors: SQLite may have rolled back by itself (a full disk).
void Sqlite::roll_back() const { sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr); }

}  // namespace lacuna::sweep
