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
  if (paper.value) json["value"] = *paper.value;
  if (paper.at_least) json["at_least"] = *paper.at_least;
  if (paper.at_most) json["at_most"] = *paper.at_most;
  if (!paper.words.empty()) json["words"] = paper.words;
  if (!paper.circular.empty()) json["circular"] = paper.circular;
  json["effect"] = paper.is_effect();
  json["unit"] = paper.unit;
  json["figure"] = paper.figure;
  json["section"] = paper.section;
  json["reading"] = paper.reading;
  return json;
}

Json cell_json(const FigureOutput& output, const Cell& cell) {
  Json json{{"row", cell.row}, {"column", cell.column}, {"ours", cell.ours}};
  if (cell.range) json["range"] = {cell.range->low, cell.range->high};
  if (cell.paper.empty()) return json;
  const PaperValue& paper = output.paper.at(cell.paper);
  json["paper"] = paper_json(cell.paper, paper);
  json["difference"] = paper.difference(cell.ours);
  json["verdict"] = verdict_name(verdict_on(paper, cell.ours));
  if (needs_reason(paper, cell.ours)) {
    json["reason"] = cell.reason.text;
    json["assumptions"] = cell.reason.assumptions;
    json["evidence"] = cell.reason.evidence;
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
  const Grade grade = grade_of(reproduction);
  const Json document{{"schema", 2},
                      {"lacuna", version()},
                      {"grade",
                       {{"near", grade.near},
                        {"far", grade.far},
                        {"apart", grade.apart},
                        {"hold", grade.hold},
                        {"fail", grade.fail},
                        {"circular", grade.circular},
                        {"drawn", grade.drawn},
                        {"drawn_near", grade.drawn_near}}},
                      {"figures", std::move(figures)},
                      {"moved", std::move(moved)}};
  return document.dump(1) + "\n";
}

}  // namespace lacuna::reproduce
