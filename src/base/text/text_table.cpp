#include "base/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

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

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& word : wrapped_lines(text, 1)) longest = std::max(longest, display_width(word));
  return longest;
}

constexpr std::size_t kNarrowestText = 12;

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace

TextTable::TextTable(std::vector<TableColumn> columns)
    : columns_(std::move(columns)), widths_(columns_.size()), words_(columns_.size()) {}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(cells[i]);
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
    words_[i] = std::max(words_[i], longest_word(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.emplace_back(); }

std::size_t TextTable::width_of(const Columns& columns, const Columns& widths) const {
  std::size_t width = 0;
  for (std::size_t position = 0; position < columns.size(); ++position) {
    const bool same =
        position == 0 || columns_[columns[position]].group == columns_[columns[position - 1]].group;
    width += widths[columns[position]] + (position == 0 ? 0 : same ? kGap : kGroupGap);
  }
  return width;
}

void TextTable::wrap_texts(const Columns& columns, std::size_t room, Columns& widths) const {
  for (std::size_t width = width_of(columns, widths); width > room; --width) {
    std::size_t* widest = nullptr;
    for (const std::size_t i : columns) {
      const std::size_t least = std::max({words_[i], longest_word(columns_[i].title), kNarrowestText});
      if (columns_[i].align == Align::kLeft && widths[i] > least &&
          (widest == nullptr || widths[i] > *widest))
        widest = &widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

std::string TextTable::render(const TextStyle& style) const {
  const auto room = static_cast<std::size_t>(style.width);
  Columns all(columns_.size());
  std::iota(all.begin(), all.end(), 0);
  Columns widths = widths_;
  for (const std::size_t i : all) widths[i] = std::max(widths[i], display_width(columns_[i].title));
  const bool grouped = std::ranges::any_of(columns_, [](const TableColumn& c) { return !c.group.empty(); });
  const bool wide = width_of(all, widths) > room;
  if (wide)
    for (const std::size_t i : all) widths[i] = std::max(widths_[i], longest_word(columns_[i].title));
  if (wide && !grouped) wrap_texts(all, room, widths);
  const bool in_parts = width_of(all, widths) > room;
  Columns leading;
  std::vector<Columns> groups;
  for (const std::size_t i : all) {
    const bool number = !grouped && in_parts && (!groups.empty() || columns_[i].align == Align::kRight);
    if (columns_[i].group.empty() && !number) {
      leading.push_back(i);
    } else if (!groups.empty() && !number && columns_[groups.back().back()].group == columns_[i].group) {
      groups.back().push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  for (const auto& group : groups) {  // no heading is wider than its columns
    const std::size_t heading = display_width(columns_[group.front()].group);
    const std::size_t width = width_of(group, widths);
    if (width < heading) widths[group.back()] += heading - width;
  }
  std::string text;
  std::size_t next = 0;
  do {
    Columns shown = leading;
    while (next < groups.size()) {
      Columns more = shown;
      more.insert(more.end(), groups[next].begin(), groups[next].end());
      if (shown.size() > leading.size() && width_of(more, widths) > room) break;
      shown = std::move(more);
      ++next;
    }
    Columns fitted = widths;
    wrap_texts(shown, room, fitted);
    // Titles are wrapped only if needed.
    for (const std::size_t i : shown) {
      const std::size_t missing = std::max(fitted[i], display_width(columns_[i].title)) - fitted[i];
      if (columns_[i].align == Align::kRight && width_of(shown, fitted) + missing <= room)
        fitted[i] += missing;
    }
    if (!text.empty()) text += '\n';
    text += render_columns(shown, fitted, style);
  } while (next < groups.size());
  return text;
}

std::string TextTable::render_columns(const Columns& columns, const Columns& widths,
                                      const TextStyle& style) const {
  // Space in front of each column: none, a gap, or a larger gap where a group begins.
  const auto gap_before = [&](std::size_t position) {
    if (position == 0) return std::string();
    const bool same = columns_[columns[position]].group == columns_[columns[position - 1]].group;
    return blanks(same ? kGap : kGroupGap);
  };
  std::string groups;
  std::string rule;
  bool any_group = false;
  for (std::size_t position = 0; position < columns.size(); ++position) {
    const TableColumn& column = columns_[columns[position]];
    const std::size_t width = widths[columns[position]];
    rule += gap_before(position) + std::string(width, '-');
    if (column.group.empty() || (position > 0 && columns_[columns[position - 1]].group == column.group))
      continue;
    any_group = true;
    groups += blanks(rule.size() - width - std::min(display_width(groups), rule.size() - width));
    groups += printable(column.group);
  }
  std::string text;
  if (any_group) end_line(text, groups, style, true);
  // Titles end on the same line, cells start on the same.
  const auto add_line = [&](const auto& cell_of, bool title) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const std::size_t i : columns) {
      cells.push_back(wrapped_lines(cell_of(i), widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::string line;
      for (std::size_t position = 0; position < columns.size(); ++position) {
        const auto& lines = cells[position];
        const std::size_t skipped = title ? height - lines.size() : 0;
        const bool empty = row < skipped || row - skipped >= lines.size();
        const std::size_t i = columns[position];
        line +=
            gap_before(position) + padded(empty ? "" : lines[row - skipped], widths[i], columns_[i].align);
      }
      end_line(text, line, style, title);
    }
  };
  add_line([&](std::size_t i) -> std::string_view { return columns_[i].title; }, true);
  end_line(text, rule, style, false);
  for (const auto& row : rows_) {
    if (row.empty())
      end_line(text, rule, style, false);
    else
      add_line([&](std::size_t i) -> std::string_view { return row[i]; }, false);
  }
  return text;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return {std::string(text)};
  std::vector<std::string> lines;
  std::size_t room = 0;  // left on the last line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t size = display_width(word);
    if (!lines.empty() && size + 1 <= room) {
      lines.back().append(" ").append(word);
      room -= size + 1;
    } else if (!word.empty()) {
      lines.emplace_back(word);
      room = width - std::min(width, size);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
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
