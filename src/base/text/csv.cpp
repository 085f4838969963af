#include "base/text/csv.hpp"

#include <atomic>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"

namespace lacuna {
namespace {

std::string trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

// One line's cells. A quoted cell may hold commas but not the end of the line.
std::vector<std::string> split(std::string_view line, const std::string& place) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (at < line.size() && line[at] == '"') {
      std::string cell;
      for (++at; at < line.size(); ++at) {
        if (line[at] != '"') {
          cell += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          cell += line[at++];
        } else {
          break;
        }
      }
      if (at == line.size()) throw InputError(place, "a quote is not closed", "close it on the same line");
      ++at;
      const std::size_t comma = std::min(line.find(',', at), line.size());
      if (!trim(line.substr(at, comma - at)).empty()) {
        throw InputError(place, "text follows a closing quote", "put the whole cell in quotes");
      }
      cells.push_back(std::move(cell));
      at = comma;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cells.push_back(trim(line.substr(at, comma - at)));
      at = comma;
    }
    if (at == line.size()) return cells;
    ++at;
  }
}

}  // namespace

namespace {

std::atomic<bool> keeps_formulas = false;

// Tabs and line ends in front are skipped by spreadsheets. A text that looks as if it had been guarded is
// guarded as well, so that who reads the cell can undo it.
bool is_formula(std::string_view text) {
  constexpr std::string_view kFirst = "=+-@\t\r\n";
  if (text.starts_with('\'')) text.remove_prefix(1);
  return text.size() > 1 && kFirst.find(text.front()) != kFirst.npos && !parse_number<double>(text);
}

}  // namespace

void keep_csv_formulas() { keeps_formulas = true; }

std::string csv_text(std::string_view text) {
  const bool guarded = !keeps_formulas && is_formula(text);
  if (!guarded && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = guarded ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

CsvRow& CsvRow::number(double value) {
  if (!std::isfinite(value)) return empty();
  // Below 2^53 every integer is a double, and nothing is lost by writing it as one.
  if (value == std::floor(value) && std::abs(value) < 0x1p53)
    return add(std::to_string(static_cast<std::int64_t>(value)));
  return add(fmt::format("{}", value));
}

CsvRow& CsvRow::empty(std::size_t count) {
  line_.append(count, ',');
  return *this;
}

CsvRow& CsvRow::cells(const CsvRow& other) {
  line_ += other.line_;
  return *this;
}

CsvRow& CsvRow::add(const std::string& cell) {
  line_ += ',';
  line_ += cell;
  return *this;
}

CsvTable CsvTable::parse(std::string_view text, const std::string& where) {
  // Spreadsheets start "CSV UTF-8" with a byte-order mark.
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
      text.find('\0') != std::string_view::npos) {
    throw InputError(where, "this is not UTF-8 text", "save it as CSV in UTF-8");
  }
  CsvTable table;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{}: line {}", where, number);
    if (line.front() == '#') {
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos) {
        table.notes.emplace_back(trim(std::string_view(line).substr(1, equals - 1)),
                                 trim(std::string_view(line).substr(equals + 1)));
      }
      continue;
    }
    std::vector<std::string> cells = split(line, place);
    if (table.columns.empty()) {
      table.columns = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns.size()) {
      throw InputError(
          place,
          fmt::format("{} cells, but the first line names {} columns", cells.size(), table.columns.size()),
          "give every line one cell per column, empty where it does not apply");
    }
    table.rows.push_back({number, std::move(cells)});
  }
  return table;
}

}  // namespace lacuna
