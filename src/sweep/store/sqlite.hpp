// SQLite as C++: connections and prepared statements that throw InputError with the file's name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace lacuna::sweep {

// A prepared statement. Values are bound, never written into its text.
class Statement {
 public:
  // Places are counted from 1, as in SQLite ("?1").
  Statement& bind(int place, std::int64_t value);
  Statement& bind(int place, int value) { return bind(place, static_cast<std::int64_t>(value)); }
  Statement& bind(int place, double value);  // NULL if it is not finite
  Statement& bind(int place, std::string_view text);
  Statement& bind_null(int place);
  template <typename Value>
  Statement& bind(int place, const std::optional<Value>& value) {
    return value ? bind(place, *value) : bind_null(place);
  }

  bool step();  // whether there is a row
  void run();   // to its end, then reset
  void reset();

  // Of the row that step() stands on. Columns are counted from 0.
  int columns() const;
  std::string name(int column) const;
  bool is_null(int column) const;
  bool is_number(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;  // NaN for NULL
  std::string text(int column) const;

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
  enum class Access { kCreate, kWrite, kRead };

  // Throws InputError if the file cannot be opened in that way, or is not a database.
  Sqlite(const std::filesystem::path& file, Access access);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  const std::string& file() const { return file_; }
  // Throws InputError for text that is not SQL.
  Statement prepare(std::string_view sql) const { return Statement(*this, sql); }
  // Statements without values, separated by ';'.
  void execute(std::string_view sql) const;
  std::int64_t integer(std::string_view sql) const;  // the first column of the first row
  std::string text(std::string_view sql) const;
  std::int64_t last_row() const;  // that was inserted

  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  std::string file_;
  sqlite3* connection_ = nullptr;
};

// Everything between its construction and commit() happens, or nothing does.
class Transaction {
 public:
  explicit Transaction(const Sqlite& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Sqlite& connection_;
  bool open_ = true;
};

}  // namespace lacuna::sweep
