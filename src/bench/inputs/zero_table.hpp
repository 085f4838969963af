// Tables of zeros over a training, as SparseTrain's authors published them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna::bench {

// A CSV file: a line `layer,1,2,...` with a name per point in time (an epoch), then one line per tensor with
// its name and its share of zeros at each of them. Empty lines and those that begin with # are ignored.
struct ZeroTable {
  struct Row {
    std::string name;
    std::vector<double> shares;  // 0..1, by epoch
  };
  std::string path;
  std::vector<std::string> epochs;
  std::vector<Row> rows;

  // Throws InputError if there is none; `use` says who needs it.
  const Row& row(std::string_view name, std::string_view use) const;
};

// Reads the table `name`: one of data/papers/sparsetrain_zeros, which are part of the program, or a .csv
// file. Throws InputError with line and column.
ZeroTable read_zero_table(const std::string& name);
ZeroTable parse_zero_table(std::string_view text, const std::string& path);
std::vector<std::string> zero_table_names();

}  // namespace lacuna::bench
