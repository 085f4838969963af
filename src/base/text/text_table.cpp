#include "base/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

namespace lacuna {
namespace {

constexpr std::size_t kGap = 2;       // between columns
constexpr std::size_t kGroupGap = 4;  // between groups

std::string blanks(std::size_t count) { return std::string(count, ' '); }

std::string padded(std::string_view text, std::size_t width, Align align) {
  const std::size_t missing = width - std::min(width, display_width(text));
  return align == Align::kLeft ? std::string(text) + blanks(missing) : blanks(missing) + std::string(text);
}

void end_line(std::string& text, std::string line, const TextStyle& style, bool heading) {
  while (line.ends_with(' ')) line.pop_back();
  text += heading ? bold_text(line, style) : line;
  text += '\n';
}

std::string styled(std::string_view text, const TextStyle& style, int code) {
  return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace

TextTable::TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {
  for (const TableColumn& column : columns_) widths_.push_back(display_width(column.title));
}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(cells[i]);
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.emplace_back(); }

std::string TextTable::render(const TextStyle& style) const {
  std::vector<std::size_t> leading;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].group.empty()) {
      leading.push_back(i);
    } else if (!groups.empty() && columns_[groups.back().back()].group == columns_[i].group) {
      groups.back().push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  std::vector<std::size_t> widths = widths_;
  const auto width_of = [&](const std::vector<std::size_t>& columns) {
    std::size_t width = 0;
    for (const std::size_t i : columns) width += widths[i] + kGap;
    return width;
  };
  for (const auto& group : groups) {  // no heading is wider than its columns
    const std::size_t heading = display_width(columns_[group.front()].group) + kGap;
    if (width_of(group) < heading) widths[group.back()] += heading - width_of(group);
  }
  std::string text;
  std::size_t next = 0;
  do {
    std::vector<std::size_t> shown = leading;
    std::size_t width = width_of(leading);
    do {
      if (next == groups.size()) break;
      width += width_of(groups[next]) + kGroupGap;
      shown.insert(shown.end(), groups[next].begin(), groups[next].end());
      ++next;
    } while (next < groups.size() && width + width_of(groups[next]) <= static_cast<std::size_t>(style.width));
    if (!text.empty()) text += '\n';
    text += render_columns(shown, widths, style);
  } while (next < groups.size());
  return text;
}

std::string TextTable::render_columns(const std::vector<std::size_t>& columns,
                                      const std::vector<std::size_t>& widths, const TextStyle& style) const {
  // What stands before each column: nothing, a gap, or the larger gap where a group begins.
  const auto gap_before = [&](std::size_t position) {
    if (position == 0) return std::string();
    const bool same = columns_[columns[position]].group == columns_[columns[position - 1]].group;
    return blanks(same ? kGap : kGroupGap);
  };
  std::string groups;
  std::string titles;
  std::string rule;
  bool any_group = false;
  for (std::size_t position = 0; position < columns.size(); ++position) {
    const TableColumn& column = columns_[columns[position]];
    const std::size_t width = widths[columns[position]];
    titles += gap_before(position) + padded(column.title, width, column.align);
    rule += gap_before(position) + std::string(width, '-');
    if (column.group.empty() || (position > 0 && columns_[columns[position - 1]].group == column.group))
      continue;
    any_group = true;
    groups += blanks(display_width(titles) - width -
                     std::min(display_width(groups), display_width(titles) - width));
    groups += printable(column.group);
  }
  std::string text;
  if (any_group) end_line(text, groups, style, true);
  end_line(text, titles, style, true);
  end_line(text, rule, style, false);
  for (const auto& row : rows_) {
    if (row.empty()) {
      end_line(text, rule, style, false);
      continue;
    }
    std::string line;
    for (std::size_t position = 0; position < columns.size(); ++position) {
      const std::size_t i = columns[position];
      line += gap_before(position) + padded(row[i], widths[i], columns_[i].align);
    }
    end_line(text, line, style, false);
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return safe;
}

std::string grouped_digits(std::int64_t value) { return with_commas(fmt::format("{}", value)); }
std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped_digits(count), noun, count == 1 ? "" : "s");
}
std::string rounded_digits(double value) { return with_commas(fmt::format("{:.0f}", value)); }

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  if (ratio <= 0 || ratio >= 0.1) return fmt::format("{:.2f}", ratio);
  return fmt::format("{:.{}f}", ratio, std::max(3, static_cast<int>(-std::floor(std::log10(ratio)))));
}

std::string ratio_text(double numerator, double denominator) {
  return denominator > 0 ? ratio_text(numerator / denominator) : "-";
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(std::ceil(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

std::string bold_text(std::string_view text, const TextStyle& style) { return styled(text, style, 1); }
std::string dim_text(std::string_view text, const TextStyle& style) { return styled(text, style, 2); }

std::string bar_text(double value, double largest, std::size_t columns) {
  // U+2588 down to U+258F: a full block, seven eighths, ... one eighth.
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(value > 0) || !(largest > 0) || std::isinf(largest)) return "";
  const double share = std::min(1.0, value / largest);
  const auto eighths = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(share * static_cast<double>(8 * columns))));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text;
}

}  // namespace lacuna
