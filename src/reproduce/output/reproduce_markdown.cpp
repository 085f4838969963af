#include <fmt/format.h>

#include "reproduce/output/reproduce_output.hpp"

namespace lacuna::reproduce {
namespace {

constexpr const char* kIntroduction = R"(# The papers' figures, reproduced

{}

Written by `lacuna reproduce --markdown docs/results/reproduce.md`; `lacuna reproduce` prints the same and exits with 1
if a number moved, `--against-paper` with 3 or 4 for the distance from the papers
([exit codes](../output.md#reproduce)). Everything here is simulated from the traces of `data/`; the papers' values are
in `data/papers`, with the place and how exactly each can be read. Numbers such as A1 are
[assumptions](../assumptions.md). A range in brackets is that of the two halves of the recorded samples, or of seeds
where masks are drawn; a trace of one sample has none, and one that rounds to the number itself is left out. Factors
within 15 % of 1 are compared as effects, by their distance from 1; words of a paper stand next to the bounds that we
read into them.

)";

// Asterisks and bars mean something in Markdown.
std::string markdown(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '*' || c == '|' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_table(const FigureTable& table) {
  std::string text = fmt::format("**{}**\n\n| {} |", markdown(table.title), markdown(table.row_title));
  std::string rule = "|---|";
  for (const std::string& column : table.columns) {
    text += fmt::format(" {} |", markdown(column));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& row : table.rows) {
    text += fmt::format("| {} |", markdown(row));
    for (const std::string& column : table.columns) {
      const Cell* cell = table.find(row, column);
      text += cell == nullptr ? std::string(" |") : fmt::format(" {} |", cell_text(table, *cell));
    }
    text += "\n";
  }
  return text + "\n";
}

std::string markdown_compared(const FigureOutput& output) {
  std::string text;
  for (const FigureTable& table : output.result.tables) {
    for (const Cell& cell : table.cells) {
      if (cell.paper.empty()) continue;
      const PaperValue& paper = output.paper.at(cell.paper);
      text += fmt::format("| {}, {} | {} | {} | {} | {} |\n", markdown(cell.row), markdown(cell.column),
                          number_text(table, cell.ours), markdown(paper.text(table.digits)),
                          difference_text(paper, cell.ours),
                          needs_reason(paper, cell.ours) ? markdown(reason_text(cell.reason)) : "");
    }
  }
  if (text.empty()) return "";
  return "| with the paper | ours | paper | difference | why, where it is over 5 % or fails "
         "|\n|---|---|---|---|---|\n" +
         text + "\n";
}

}  // namespace

std::string reproduction_markdown(const Reproduction& reproduction) {
  std::string text = fmt::format(kIntroduction, grade_of(reproduction).text());
  for (const FigureOutput& output : reproduction.figures) {
    text += fmt::format("## {}: {}\n\n{}, {}. `lacuna reproduce {}`\n\n", output.figure->id,
                        markdown(output.figure->title), output.paper.name(), output.figure->place,
                        output.figure->id);
    for (const FigureTable& table : output.result.tables) text += markdown_table(table);
    text += markdown_compared(output);
    for (const std::string& note : output.result.notes) text += fmt::format("{}\n\n", markdown(note));
  }
  text.pop_back();
  return text;
}

}  // namespace lacuna::reproduce
