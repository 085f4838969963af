#include "sweep/store/sqlite.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/text/quote.hpp"
#include "base/work_progress.hpp"

namespace lacuna::sweep {
namespace {

// Longest wait for another process that writes, and the pause between two tries.
constexpr int kWaitForOthers = 10'000'000, kWaitOnce = 20'000;  // microseconds
constexpr int kStepsBetweenQuestions = 100'000;                 // of SQLite's virtual machine: milliseconds
constexpr const char* kCompanions[] = {"-wal", "-journal", "-shm"};

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

// To SQLite some names without a folder (":memory:", "file:...") are no files.
std::string name_of(const std::filesystem::path& file) {
  return file.is_absolute() ? file.string() : "./" + file.string();
}

// Where SQLite looks for companions: next to the file, and not to a link to it.
std::string real_name(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored).string();
}

bool can_write_beside(const std::filesystem::path& file) {
  return ::access(std::filesystem::path(real_name(file)).parent_path().c_str(), W_OK) == 0;
}

// To read a file, SQLite makes a log and its index next to it, which only a connection that may write removes
// again. It gets one, with all that writes refused; but a log or journal that is already there belongs to a
// sweep that runs or was killed, and is left to it.
bool removes_companions(const std::filesystem::path& file) {
  std::error_code ignored;
  return can_write_beside(file) && std::ranges::none_of(kCompanions, [&](const char* suffix) {
           return std::filesystem::exists(real_name(file) + suffix, ignored);
         });
}

// A file with a write-ahead log cannot be read in a folder that cannot be written, unless SQLite is told that
// nobody changes it; a log next to it would say that somebody does.
std::string read_only_name(const std::filesystem::path& file) {
  std::error_code ignored;
  if (can_write_beside(file) || std::filesystem::exists(real_name(file) + "-wal", ignored))
    return name_of(file);
  std::string uri = "file:";
  for (const char c : name_of(file)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

// A journal may end with the name of a "super-journal", that of a transaction over several databases, which
// SQLite removes when it has rolled back: any file of this machine. Files of results are changed one by one.
bool names_another_file(const std::filesystem::path& journal) {
  constexpr std::string_view kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  std::array<char, kMagic.size()> end{};
  std::ifstream file(journal, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  return file.read(end.data(), end.size()) && std::string_view(end.data(), end.size()) == kMagic;
}

// SQLite opens these by name: a pipe would be waited for, a link be followed, a second name be written to.
void check_companions(const std::filesystem::path& file) {
  if (file.empty()) return;
  for (const char* suffix : kCompanions) {
    const std::filesystem::path real = real_name(file) + suffix;
    reserve_name(real);
    struct stat status {};
    if (::lstat(real.c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1)
      throw InputError(real.string(), "this belongs to a file of results, and is not a plain file",
                       "remove it, or name another file");
    if (std::string_view(suffix) == "-journal" && names_another_file(real))
      throw InputError(real.string(), "this journal would have another file removed",
                       "remove it, or name another file of results");
  }
}

// Far above what files of results need, and far below what a machine has.
void set_limits(sqlite3* connection) {
  constexpr std::pair<int, int> kLimits[] = {
      {SQLITE_LIMIT_LENGTH, 16 << 20},         {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
      {SQLITE_LIMIT_EXPR_DEPTH, 100},          {SQLITE_LIMIT_COMPOUND_SELECT, 10},
      {SQLITE_LIMIT_VDBE_OP, 1 << 20},         {SQLITE_LIMIT_ATTACHED, 1},  // VACUUM INTO
      {SQLITE_LIMIT_TRIGGER_DEPTH, 10},        {SQLITE_LIMIT_WORKER_THREADS, 0},
      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}};
  for (const auto& [limit, value] : kLimits) sqlite3_limit(connection, limit, value);
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

Cell Statement::cell(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return integer(column);
    case SQLITE_FLOAT:
      return number(column);
    default:
      return text(column);
  }
}

void Sqlite::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

int Sqlite::interrupts(void* self) { return static_cast<const Sqlite*>(self)->stops() ? 1 : 0; }

int Sqlite::waits(void* self, int tries) {
  if (tries >= kWaitForOthers / kWaitOnce || static_cast<const Sqlite*>(self)->stops()) return 0;
  ::usleep(kWaitOnce);
  return 1;
}

Sqlite::Sqlite(const std::filesystem::path& file, Access access, std::function<bool()> stop)
    : file_(file.string()), stop_(std::move(stop)) {
  check_companions(file);
  if (!file.empty()) reserve_name(file_ + "-lock");
  if (access == Access::kRead) {
    for (const char* suffix : {"", "-wal"}) add_input_file(file_ + suffix);
  }
  const std::string name = file.empty()              ? ":memory:"
                           : access == Access::kRead ? read_only_name(file)
                                                     : name_of(file);
  const bool cleans_up = access == Access::kRead && removes_companions(file);
  int flags = SQLITE_OPEN_NOMUTEX;
  if (access == Access::kCreate) flags |= SQLITE_OPEN_CREATE;
  flags |= access == Access::kCreate || cleans_up ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (name.ends_with("?immutable=1")) flags |= SQLITE_OPEN_URI;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (connection == nullptr) throw std::bad_alloc();
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_handler(connection, waits, this);
  sqlite3_progress_handler(connection, kStepsBetweenQuestions, interrupts, this);
  // A file may come from anywhere: its schema must not run anything, nor change what SQLite relies on.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  set_limits(connection);
  if (cleans_up) execute("PRAGMA query_only = ON");
  integer("PRAGMA schema_version");  // reads the file, and so fails if it is not a database
}

void Sqlite::trust_schema() const {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nullptr);
}

bool Sqlite::has_moved() const {
  int moved = 0;
  sqlite3_file_control(connection_.get(), nullptr, SQLITE_FCNTL_HAS_MOVED, &moved);
  // SQLite removes its log only when the last connection closes.
  struct stat log {};
  const std::string path = real_name(file_) + "-wal";
  const std::uint64_t now = ::lstat(path.c_str(), &log) == 0 ? log.st_ino : 0;
  if (log_ == 0) log_ = now;
  return moved != 0 || now != log_;
}

void Sqlite::fail(int code) const {
  if ((code & 0xff) == SQLITE_INTERRUPT || ((code & 0xff) == SQLITE_BUSY && stops())) throw Stopped();
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
