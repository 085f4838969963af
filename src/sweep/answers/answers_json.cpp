#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/text/json.hpp"
#include "base/text/parse_number.hpp"
#include "sweep/answers/answers.hpp"

namespace lacuna::sweep {

namespace {

Json value_json(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* condition = std::get_if<bool>(&value)) return *condition;
  if (const auto* number = std::get_if<double>(&value)) return number_json(*number);
  return nullptr;
}

Json network_json(const std::string& network) { return network.empty() ? Json() : Json(network); }

// A number of the page: there are ten thousand designs by a dozen metrics, and six digits are enough for a
// picture.
Json short_json(double value) {
  return std::isfinite(value) ? number_json(*parse_number<double>(fmt::format("{:.6g}", value))) : Json();
}

std::string document(std::string_view list, Json rows) {
  Json document = json_document(1);
  document[std::string(list)] = std::move(rows);
  return dump_json(document);
}

// The values of a parameter, and for each design the place of its value; -1: it has none.
Json parameter_json(const Results& results, const std::string& name) {
  Json values = Json::array();
  std::map<Value, int> places;
  for (const Value& value : results.values_of(name)) {
    places[value] = static_cast<int>(values.size());
    values.push_back(value_json(value));
  }
  Json of_designs = Json::array();
  for (const ResultDesign& design : results.designs) {
    const auto found = places.find(design.setting(name));
    of_designs.push_back(found == places.end() ? -1 : found->second);
  }
  return {{"name", name}, {"values", values}, {"of", of_designs}};
}

}  // namespace

std::string chosen_json(const Results& results, const std::vector<RowGroup>& chosen,
                        const std::vector<const Metric*>& metrics, std::string_view list) {
  Json rows = Json::array();
  for (const RowGroup& part : chosen) {
    for (std::size_t rank = 0; rank < part.rows.size(); ++rank) {
      const ResultRow& row = part.rows[rank];
      const ResultDesign& design = results.designs[row.design];
      Json asked = Json::object(), values = Json::object(), settings = Json::object();
      for (const Metric* metric : metrics) asked[metric->name()] = number_json(metric->value(row));
      for (std::size_t i = 0; i < results.metrics.size(); ++i) {
        values[results.metrics[i]] = number_json(row.metrics[i]);
      }
      for (const auto& [name, value] : design.settings) settings[name] = value_json(value);
      rows.push_back({{"network", network_json(part.network)},
                      {"rank", rank + 1},
                      {"of", part.of},
                      {"design", design.id},
                      {"machine", design.machine},
                      {"parameters", design.parameters},
                      {"asked", asked},
                      {"metrics", values},
                      {"settings", settings}});
    }
  }
  return document(list, std::move(rows));
}

std::string effects_json(const std::vector<MetricEffects>& all) {
  Json rows = Json::array();
  for (const MetricEffects& one : all) {
    for (const Effect& effect : one.effects) {
      Json levels = Json::array();
      for (const EffectLevel& level : effect.levels) {
        levels.push_back({{"value", value_json(level.value)},
                          {"relative", number_json(level.relative)},
                          {"rows", level.rows}});
      }
      rows.push_back({{"metric", one.metric},
                      {"network", network_json(one.network)},
                      {"parameter", effect.parameter},
                      {"ratio", number_json(effect.ratio)},
                      {"share_of_variance", number_json(effect.share)},
                      {"best", value_json(effect.levels[effect.best].value)},
                      {"worst", value_json(effect.levels[effect.worst].value)},
                      {"levels", levels}});
    }
  }
  return document("effects", std::move(rows));
}

std::string diff_json(const DesignDiff& diff) {
  Json rows = Json::array();
  for (const SettingDifference& one : diff.settings) {
    rows.push_back({{"setting", one.name}, {"a", value_json(one.a)}, {"b", value_json(one.b)}});
  }
  for (const MetricDifference& one : diff.metrics) {
    rows.push_back({{"network", one.network},
                    {"metric", one.metric},
                    {"a", number_json(one.a)},
                    {"b", number_json(one.b)},
                    {"ratio", number_json(one.ratio)}});
  }
  return document("differences", std::move(rows));
}

std::string page_json(const Results& results, const std::string& condition, const Metric& x,
                      const Metric& y) {
  std::vector<std::string> metrics = results.metrics;
  for (const Metric* metric : {&x, &y}) {
    if (results.metric(metric->name()) == results.metrics.size()) metrics.push_back(metric->name());
  }
  Json directions = Json::array(), units = Json::array();
  for (const std::string& name : metrics) {
    directions.push_back(name == x.name()   ? x.maximise()
                         : name == y.name() ? y.maximise()
                                            : higher_is_better(name));
    units.push_back(metric_unit(name));
  }
  Json sets = Json::array();
  const auto add_set = [&](const std::string& network, const std::vector<ResultRow>& rows) {
    Json designs = Json::array(), columns = Json::array();
    for (const ResultRow& row : rows) designs.push_back(row.design);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      Json& column = columns.emplace_back(Json::array());
      for (const ResultRow& row : rows) {
        column.push_back(short_json(i < row.metrics.size()   ? row.metrics[i]
                                    : metrics[i] == x.name() ? x.value(row)
                                                             : y.value(row)));
      }
    }
    sets.push_back({{"network", network_json(network)}, {"designs", designs}, {"columns", columns}});
  };
  if (results.networks.size() > 1) {
    const std::vector<ResultRow> all = rows_where(results, over_all_networks(results), condition, false);
    if (!all.empty()) add_set("", all);
  }
  for (const RowGroup& group : row_groups(results, condition, true)) add_set(group.network, group.rows);

  Json parameters = Json::array(), designs = Json::array();
  for (const std::string& name : results.parameters) parameters.push_back(parameter_json(results, name));
  for (const ResultDesign& design : results.designs) {
    designs.push_back(
        Json::array({design.id, design.machine, value_json(design.setting("model")), design.parameters}));
  }
  const Json page{{"file", results.file},
                  {"program", results.program},
                  {"where", condition},
                  {"x", x.name()},
                  {"y", y.name()},
                  {"metrics", metrics},
                  {"more_is_better", directions},
                  {"units", units},
                  {"parameters", parameters},
                  {"designs", designs},
                  {"sets", sets}};
  return page.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lacuna::sweep
