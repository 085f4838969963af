#include <fmt/format.h>

#include "reproduce/output/reproduce_output.hpp"

namespace lacuna::reproduce {
namespace {

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
      text += cell == nullptr ? std::string(" |") : fmt::format(" {} |", number_text(table, cell->ours));
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
                          differs_much(paper, cell.ours) ? markdown(reason_text(cell.reason)) : "");
    }
  }
  if (text.empty()) return "";
  return "| with the paper | ours | paper | difference | why, where it is over 5 % "
         "|\n|---|---|---|---|---|\n" +
         text + "\n";
}

}  // namespace

std::string reproduction_markdown(const Reproduction& reproduction) {
  std::string text =
      "# The papers' figures, reproduced\n\n"
      "Written by `lacuna reproduce --markdown docs/results/reproduce.md`; `lacuna reproduce` prints the "
      "same and exits with 1 if a\n"
      "number moved. Everything here is simulated from the traces of `data/`; the papers' values are in "
      "`data/papers`, with the place\n"
      "and how exactly each can be read. Numbers such as A1 are [assumptions](../assumptions.md).\n\n";
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
