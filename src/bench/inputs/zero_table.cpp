#include "bench/inputs/zero_table.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <span>

#include "base/embedded_file.hpp"
#include "base/error.hpp"
#include "base/io/yaml/load_yaml.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_zeros();  // cmake/LacunaEmbed.cmake

namespace bench {
namespace {

constexpr std::string_view kTableExample = "see data/papers/sparsetrain_zeros/vgg16.csv";
// Far beyond any real training.
constexpr std::size_t kMaxEpochs = 100'000;
constexpr std::size_t kMaxRows = 100'000;

// Takes the text up to the next `end` (or all of it) off the front.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::string_view rest = line;;) {
    const bool last = rest.find(',') == std::string_view::npos;
    cells.push_back(take_until(rest, ','));
    if (last) return cells;
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 200 &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class TableReader {
 public:
  TableReader(std::string_view text, const std::string& path) : text_(text) { table_.path = path; }

  ZeroTable read() {
    while (!text_.empty()) {
      ++line_;
      std::string_view line = take_until(text_, '\n');
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.starts_with('#')) continue;
      if (table_.epochs.empty())
        header(cells_of(line));
      else
        row(cells_of(line));
    }
    if (table_.epochs.empty())
      throw InputError(table_.path, "there is no line 'layer,1,2,...'", kTableExample);
    if (table_.rows.empty()) throw InputError(table_.path, "there are no shares of zeros", kTableExample);
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(std::size_t column, const std::string& cause, std::string_view remedy) const {
    throw InputError(fmt::format("{}:{}: column {}", table_.path, line_, column), cause, remedy);
  }

  void header(const std::vector<std::string_view>& cells) {
    if (cells[0] != "layer")
      fail(1, fmt::format("{} where the word 'layer' belongs", quote_name(cells[0])), kTableExample);
    if (cells.size() < 2) fail(2, "there are no points in time", "name them after 'layer,'");
    if (cells.size() - 1 > kMaxEpochs)
      fail(kMaxEpochs + 2, fmt::format("more than {} points in time", kMaxEpochs), "leave some out");
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (!is_name(cells[i]))
        fail(i + 1, fmt::format("{} is not a name of a point in time", quote_name(cells[i])), "use a number");
      table_.epochs.emplace_back(cells[i]);
    }
  }

  void row(const std::vector<std::string_view>& cells) {
    if (!is_name(cells[0])) fail(1, fmt::format("{} is not a name", quote_name(cells[0])), "give a name");
    ZeroTable::Row row{std::string(cells[0]), {}};
    if (!names_.insert(row.name).second)
      fail(1, fmt::format("there is a second row {}", quote_name(row.name)), "leave one out");
    if (table_.rows.size() >= kMaxRows) fail(1, fmt::format("more than {} rows", kMaxRows), "leave some out");
    if (cells.size() != table_.epochs.size() + 1)
      fail(std::min(cells.size(), table_.epochs.size() + 1) + 1,
           fmt::format("{} shares in the row {}, where the first line names {} points in time",
                       cells.size() - 1, quote_name(row.name), table_.epochs.size()),
           "give one for each");
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const auto share = parse_number<double>(cells[i]);
      if (!share)
        fail(i + 1, fmt::format("{} is not a number", quote_name(cells[i])), "give a share, 0 to 1");
      if (!(*share >= 0 && *share <= 1))
        fail(i + 1, fmt::format("{} is not a share of zeros", quote_name(cells[i])), "give 0 to 1");
      row.shares.push_back(*share);
    }
    table_.rows.push_back(std::move(row));
  }

  std::string_view text_;
  std::size_t line_ = 0;
  ZeroTable table_;
  std::set<std::string> names_;
};

}  // namespace

const ZeroTable::Row& ZeroTable::row(std::string_view name, std::string_view use) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return *found;
  throw InputError(path, fmt::format("there is no row {}, the zeros of {}", quote_name(name), use),
                   "add it, or give the list of layers that belongs to the table with --shapes");
}

std::vector<std::string> zero_table_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_zeros()) names.emplace_back(file.stem());
  std::ranges::sort(names);
  return names;
}

std::string zero_table_network(const std::string& name) {
  return std::filesystem::path(name).stem().string();
}

ZeroTable read_zero_table(const std::string& name) {
  for (const EmbeddedFile& file : embedded_zeros())
    if (file.stem() == name) return parse_zero_table(file.bytes, std::string(file.name));
  if (std::filesystem::path(name).extension() != ".csv")
    throw InputError(quote_name(name), "there is no such table of zeros",
                     suggest(name, zero_table_names()) + ", or give a .csv file");
  const std::string text = read_yaml_file(name);
  if (text.size() > kLargestYaml) throw InputError(name, "larger than 1 MB", "this is not a table of zeros");
  return parse_zero_table(text, name);
}

ZeroTable parse_zero_table(std::string_view text, const std::string& path) {
  return TableReader(text, path).read();
}

}  // namespace bench
}  // namespace lacuna
