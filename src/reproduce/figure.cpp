#include "reproduce/figure.hpp"

#include <algorithm>
#include <stdexcept>

namespace lacuna::reproduce {

std::string RunKey::text() const {
  std::string text = trace + " " + arch;
  for (const auto& [key, value] : settings) text += " " + key + "=" + value;
  return text;
}

FigureTable& FigureTable::set(const std::string& row, const std::string& column, double ours,
                              const std::string& paper, const Reason& reason) {
  if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
  if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  cells.push_back({row, column, ours, paper, reason});
  return *this;
}

FigureTable& FigureTable::over(const Range& range) {
  cells.back().range = range;
  return *this;
}

FigureTable& FigureTable::compare(const std::string& row, const std::string& column, const std::string& paper,
                                  const Reason& reason) {
  (void)at(row, column);
  Cell& cell = const_cast<Cell&>(*find(row, column));
  cell.paper = paper;
  cell.reason = reason;
  return *this;
}

const Cell* FigureTable::find(const std::string& row, const std::string& column) const {
  for (const Cell& cell : cells) {
    if (cell.row == row && cell.column == column) return &cell;
  }
  return nullptr;
}

double FigureTable::at(const std::string& row, const std::string& column) const {
  const Cell* cell = find(row, column);
  if (cell == nullptr) throw std::logic_error(id + " has no cell " + row + ", " + column);
  return cell->ours;
}

const std::vector<Figure>& all_figures() {
  static const std::vector<Figure> kFigures = [] {
    std::vector<Figure> figures;
    for (const auto family : {tensordash_speedup_figures, tensordash_energy_figures,
                              tensordash_geometry_figures, tensordash_random_figures, tensordash_area_figures,
                              tensordash_mixed_figures, tensordash_two_side_figures, ant_figures,
                              ant_assumption_figures, scnn_figures, sparsetrain_figures}) {
      for (Figure& figure : family()) figures.push_back(std::move(figure));
    }
    return figures;
  }();
  return kFigures;
}

}  // namespace lacuna::reproduce
