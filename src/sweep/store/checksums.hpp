// A checksum per row of a file of results, so that a flipped bit is no other number. Rows that others point
// to by their number are covered with it: the checksum of a row holds the keys, not the numbers, of what it
// points to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/store/sqlite.hpp"

namespace lacuna::sweep {

// Returns the checksum of a row, whatever the order of its columns. Empty cells count for nothing: columns
// that a later version adds change no checksum. A whole number equals the same number as a double.
std::int64_t row_checksum(std::span<const std::string> columns, std::span<const Cell> cells);

// Inserts rows with their checksums.
class CheckedInsert {
 public:
  // `columns` without the checksum.
  CheckedInsert(const Sqlite& connection, std::string_view verb, std::string_view table,
                std::vector<std::string> columns);
  // `keys`: of the rows that the first cells point to, in their place.
  void run(std::vector<Cell> cells, const std::vector<Cell>& keys = {});

 private:
  std::vector<std::string> columns_;
  Statement statement_;
};

// Throws InputError if a row was changed, or points to one that is not there. Rows of older versions, which
// have no checksum, are only checked for the latter. `operations`: of each operation of each layer, too.
void check_rows(const Sqlite& connection, bool operations);

}  // namespace lacuna::sweep
