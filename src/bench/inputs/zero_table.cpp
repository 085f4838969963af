#include "bench/inputs/zero_table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "base/text/csv.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::bench {

std::span<const EmbeddedFile> embedded_zeros();  // cmake/LacunaEmbed.cmake

const ZeroTable::Row& ZeroTable::row(std::string_view name, std::string_view use) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return *found;
  throw InputError(path, fmt::format("there is no row {}, the zeros of {}", quote_name(name), use),
                   "add it, or give the list of layers that belongs to the table with --shapes");
}

std::vector<std::string> zero_table_names() { return stems(embedded_zeros()); }

ZeroTable read_zero_table(const std::string& name) {
  const auto [file, text] = read_named(embedded_zeros(), name, ".csv", quote_name(name), "table of zeros");
  return parse_zero_table(text, file);
}

ZeroTable parse_zero_table(std::string_view text, const std::string& path) {
  constexpr std::string_view kVgg16Zeros = "see data/papers/sparsetrain_zeros/vgg16.csv";
  const CsvTable csv = CsvTable::parse(text, path);
  if (csv.columns.size() < 2 || csv.columns[0] != "layer")
    throw InputError(path, "its first line is not 'layer,1,2,...'", kVgg16Zeros);
  if (csv.rows.empty()) throw InputError(path, "the table is empty", kVgg16Zeros);
  ZeroTable table{path, {csv.columns.begin() + 1, csv.columns.end()}, {}};
  std::set<std::string> names;
  for (const CsvTable::Row& line : csv.rows) {
    ZeroTable::Row& row = table.rows.emplace_back(ZeroTable::Row{line.cells[0], {}});
    if (row.name.empty())
      throw InputError(fmt::format("{}:{}", path, line.line), "the row has no name", "name its layer");
    if (!names.insert(row.name).second)
      throw InputError(fmt::format("{}:{}", path, line.line),
                       fmt::format("there is a second row {}", quote_name(row.name)), "leave one out");
    for (std::size_t i = 1; i < line.cells.size(); ++i) {
      const auto share = parse_number<double>(line.cells[i]);
      if (!share || !(*share >= 0 && *share <= 1))
        throw InputError(fmt::format("{}:{}: column {}", path, line.line, i + 1),
                         fmt::format("{} is not a share of zeros", quote_name(line.cells[i])),
                         "give a number from 0 to 1");
      row.shares.push_back(*share);
    }
  }
  return table;
}

}  // namespace lacuna::bench
