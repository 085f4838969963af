// SQLite as C++: connections and prepared statements whose errors are InputErrors with the file's name and a
// remedy. (SQLiteCpp has neither, so every call would need a handler around it, and would be one more package
// to install.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace lacuna::sweep {

// A value of a row; monostate: NULL.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

template <typename Value>
Cell to_cell(const Value& value) {
  if constexpr (std::is_same_v<Value, Cell> || std::is_same_v<Value, double>) {
    return value;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? to_cell(*value) : Cell();
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<std::int64_t>(value);
  } else {
    return std::string(value);
  }
}

// A prepared statement. Values are bound, never written into its text.
class Statement {
 public:
  // Binds ?1, ?2, ... and makes the statement ready to run. A double that is not finite becomes NULL.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    return bind_all(std::vector<Cell>{to_cell(values)...});
  }
  Statement& bind_all(std::span<const Cell> cells);

  bool step();  // whether there is a row
  // Binds the values and runs to the end.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    finish();
  }
  void finish();
  void reset();

  // The row after step(). Columns are counted from 0.
  int columns() const;
  std::string name(int column) const;
  int column(std::string_view name) const;  // -1: none of that name
  bool is_null(int column) const;
  bool is_number(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;  // NaN for NULL
  std::string text(int column) const;
  Cell cell(int column) const;

 private:
  friend class Sqlite;
  Statement(const class Sqlite& connection, std::string_view sql);
  void check(int code) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Sqlite* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A connection to a file. Statements must not outlive it.
class Sqlite {
 public:
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  enum class Access { kCreate, kRead };

  // Throws InputError if the file cannot be opened in that way, is not a database, or has a companion (-wal,
  // -journal, -shm) that is not a plain file. `stop` is asked during long queries and while another program
  // has the file locked: they end with Stopped. Empty `file`: a database in memory.
  Sqlite(const std::filesystem::path& file, Access access, std::function<bool()> stop = {});

  const std::string& file() const { return file_; }
  // Throws InputError for text that is not SQL. Binds the values, if there are any.
  template <typename... Values>
  Statement prepare(std::string_view sql, const Values&... values) const {
    Statement statement(*this, sql);
    if constexpr (sizeof...(values) > 0) statement.bind(values...);
    return statement;
  }
  // Runs statements without values, separated by ';'.
  void execute(std::string_view sql) const;
  // The first column of the first row; 0 or "" without a row.
  template <typename... Values>
  std::int64_t integer(std::string_view sql, const Values&... values) const {
    Statement statement = prepare(sql, values...);
    return statement.step() ? statement.integer(0) : 0;
  }
  std::string text(std::string_view sql) const;
  // The first column of every row.
  template <typename... Values>
  std::vector<std::string> texts(std::string_view sql, const Values&... values) const {
    std::vector<std::string> all;
    for (Statement statement = prepare(sql, values...); statement.step();) all.push_back(statement.text(0));
    return all;
  }
  std::int64_t last_row() const;  // inserted
  // Views may use functions from now on that are not known to be harmless (json_extract): they are our own.
  void trust_schema() const;
  // Returns true if the path no longer leads to the file that is open, or its log is another one.
  bool has_moved() const;
  // Everything that work() does to the file happens, or nothing does.
  template <typename Work>
  void transaction(const Work& work) const {
    execute("BEGIN IMMEDIATE");
    try {
      work();
      execute("COMMIT");
    } catch (...) {
      roll_back();
      throw;
    }
  }

  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  void roll_back() const;
  bool stops() const { return stop_ && stop_(); }
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  // Callbacks of SQLite, in the middle of a query and where it would wait. `self` is this object.
  static int interrupts(void* self);
  static int waits(void* self, int tries);
  std::string file_;
  std::function<bool()> stop_;
  mutable std::uint64_t log_ = 0;  // inode; 0: none was seen
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace lacuna::sweep
