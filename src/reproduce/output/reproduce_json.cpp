#include <cmath>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "reproduce/output/reproduce_output.hpp"

namespace lacuna::reproduce {
namespace {

using Json = nlohmann::ordered_json;

const char* chart_name(Chart chart) {
  switch (chart) {
    case Chart::kBars:
      return "bars";
    case Chart::kLinesByRow:
      return "lines_by_row";
    case Chart::kLinesByColumn:
      return "lines_by_column";
    case Chart::kNone:
      break;
  }
  return "none";
}

Json paper_json(const std::string& key, const PaperValue& paper) {
  Json json{{"key", key}};
  switch (paper.kind) {
    case PaperValue::Kind::kValue:
      json["value"] = paper.number;
      break;
    case PaperValue::Kind::kAtLeast:
      json["at_least"] = paper.number;
      break;
    case PaperValue::Kind::kAtMost:
      json["at_most"] = paper.number;
      break;
    case PaperValue::Kind::kWords:
      json["words"] = paper.words;
      break;
  }
  json["unit"] = paper.unit;
  json["figure"] = paper.figure;
  json["section"] = paper.section;
  json["reading"] = paper.reading;
  return json;
}

Json cell_json(const FigureOutput& output, const Cell& cell) {
  Json json{{"row", cell.row}, {"column", cell.column}, {"ours", cell.ours}};
  if (cell.paper.empty()) return json;
  const PaperValue& paper = output.paper.at(cell.paper);
  json["paper"] = paper_json(cell.paper, paper);
  const double difference = paper.difference(cell.ours);
  json["difference"] = std::isnan(difference) ? Json() : Json(difference);
  if (differs_much(paper, cell.ours)) {
    json["reason"] = cell.reason.text;
    json["assumptions"] = cell.reason.assumptions;
  }
  return json;
}

Json table_json(const FigureOutput& output, const FigureTable& table) {
  Json cells = Json::array();
  for (const Cell& cell : table.cells) cells.push_back(cell_json(output, cell));
  return {{"id", table.id},     {"title", table.title},     {"row_title", table.row_title},
          {"unit", table.unit}, {"digits", table.digits},   {"chart", chart_name(table.chart)},
          {"rows", table.rows}, {"columns", table.columns}, {"cells", std::move(cells)}};
}

}  // namespace

std::string reproduction_json(const Reproduction& reproduction) {
  Json figures = Json::array();
  for (const FigureOutput& output : reproduction.figures) {
    Json tables = Json::array();
    for (const FigureTable& table : output.result.tables) tables.push_back(table_json(output, table));
    figures.push_back({{"id", output.figure->id},
                       {"title", output.figure->title},
                       {"paper", output.paper.name()},
                       {"citation", output.paper.citation()},
                       {"place", output.figure->place},
                       {"timed", output.figure->timed},
                       {"traces", output.traces},
                       {"tables", std::move(tables)},
                       {"notes", output.result.notes}});
  }
  Json moved = Json::array();
  for (const Moved& one : reproduction.moved) {
    moved.push_back({{"key", one.key},
                     {"recorded", one.recorded ? Json(*one.recorded) : Json()},
                     {"now", one.now ? Json(*one.now) : Json()}});
  }
  const Json document{
      {"schema", 1}, {"lacuna", version()}, {"figures", std::move(figures)}, {"moved", std::move(moved)}};
  return document.dump(1) + "\n";
}

}  // namespace lacuna::reproduce
