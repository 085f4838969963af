#include <fmt/format.h>

#include "reproduce/output/reproduce_output.hpp"

namespace lacuna::reproduce {

std::string number_text(const FigureTable& table, double value) {
  const std::string number = fmt::format("{:.{}f}", value, table.digits);
  if (table.unit == "x") return number + "x";
  if (table.unit == "%") return number + " %";
  return number;
}

std::string cell_text(const FigureTable& table, const Cell& cell) {
  const std::string number = number_text(table, cell.ours);
  if (!cell.range) return number;
  const std::string low = fmt::format("{:.{}f}", cell.range->low, table.digits),
                    high = fmt::format("{:.{}f}", cell.range->high, table.digits);
  return low == high ? number : fmt::format("{} ({}-{})", number, low, high);
}

std::string difference_text(const PaperValue& paper, double ours) {
  const Verdict verdict = verdict_on(paper, ours);
  if (verdict == Verdict::kCircular) return "not counted";
  if (!paper.value) return verdict_name(verdict);
  const std::string text = fmt::format("{:+.1f} %", 100 * paper.difference(ours));
  return (text == "-0.0 %" ? "+0.0 %" : text) + (paper.is_effect() ? " of the effect" : "");
}

std::string reason_text(const Reason& reason) {
  if (reason.assumptions.empty()) return reason.text;
  return fmt::format("{} ({})", reason.text, fmt::join(reason.assumptions, ", "));
}

std::string figure_list(const TextStyle& style) {
  TextTable table(
      {{"id", Align::kLeft}, {"paper", Align::kLeft}, {"where", Align::kLeft}, {"what", Align::kLeft}});
  for (const Figure& figure : all_figures()) {
    table.add_row({figure.id, figure.paper, figure.place,
                   figure.timed ? figure.title + " (timed: --timed)" : figure.title});
  }
  return table.render(style);
}

namespace {

std::string values_text(const FigureTable& table, const TextStyle& style) {
  std::vector<TableColumn> columns{{table.row_title, Align::kLeft}};
  // Each column is its own group, so that a wide table continues below.
  for (const std::string& column : table.columns) columns.push_back({column, Align::kRight, " "});
  for (std::size_t i = 1; i < columns.size(); ++i) columns[i].group = std::string(i, ' ');
  TextTable text(columns);
  for (const std::string& row : table.rows) {
    std::vector<std::string> cells{row};
    for (const std::string& column : table.columns) {
      const Cell* cell = table.find(row, column);
      cells.push_back(cell == nullptr ? "" : cell_text(table, *cell));
    }
    text.add_row(std::move(cells));
  }
  return text.render(style);
}

// "Area of the compute logic, 65 nm, FP32, mm2": numbers show the units x and % themselves.
std::string title_text(const FigureTable& table) {
  const bool shown = table.unit.empty() || table.unit == "x" || table.unit == "%";
  return shown ? table.title : fmt::format("{}, {}", table.title, table.unit);
}

// One table for each table that has values of the paper: several may have rows of one name.
std::string compared_text(const FigureOutput& output, const TextStyle& style) {
  std::string text;
  for (const FigureTable& one : output.result.tables) {
    TextTable table({{"with the paper", Align::kLeft},
                     {"ours"},
                     {"paper"},
                     {"difference"},
                     {"how the paper's can be read", Align::kLeft}});
    std::string reasons;
    bool any = false;
    for (const Cell& cell : one.cells) {
      if (cell.paper.empty()) continue;
      any = true;
      const PaperValue& paper = output.paper.at(cell.paper);
      table.add_row({fmt::format("{}, {}", cell.row, cell.column), number_text(one, cell.ours),
                     paper.text(one.digits), difference_text(paper, cell.ours),
                     fmt::format("{}: {}", paper.figure, paper.reading)});
      if (needs_reason(paper, cell.ours))
        reasons += fmt::format("  {}, {}: {}\n", cell.row, cell.column, reason_text(cell.reason));
    }
    if (!any) continue;
    text += fmt::format("\n{}\n{}", title_text(one), table.render(style));
    if (!reasons.empty()) text += "\nwhy they differ:\n" + reasons;
  }
  return text;
}

}  // namespace

std::string reproduction_text(const Reproduction& reproduction, const TextStyle& style) {
  std::string text;
  for (const FigureOutput& output : reproduction.figures) {
    if (!text.empty()) text += '\n';
    text += bold_text(fmt::format("{}: {}", output.figure->id, output.figure->title), style);
    text += fmt::format("\n{}, {}\n", output.paper.name(), output.figure->place);
    for (const FigureTable& table : output.result.tables)
      text += fmt::format("\n{}\n{}", title_text(table), values_text(table, style));
    text += compared_text(output, style);
    for (const std::string& note : output.result.notes) text += fmt::format("\n{}\n", note);
  }
  return text;
}

std::string grade_text(const Reproduction& reproduction) { return grade_of(reproduction).text() + "\n"; }

std::string moved_text(const Reproduction& reproduction) {
  std::string text;
  for (const Moved& moved : reproduction.moved) {
    const auto shown = [](const std::optional<double>& value, const char* none) {
      return value ? fmt::format("{}", *value) : std::string(none);
    };
    text += fmt::format("moved: {}: recorded {}, now {}\n", moved.key, shown(moved.recorded, "nothing"),
                        shown(moved.now, "gone"));
  }
  return text;
}

}  // namespace lacuna::reproduce
