#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "report/result/json_text.hpp"
#include "sweep/answers/answers_text.hpp"

namespace lacuna::sweep {

namespace {

std::string json_value(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  if (const auto* condition = std::get_if<bool>(&value)) return *condition ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return json_number(*number);
  return "null";
}

std::string json_list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(json_string(text));
  return json_list(items);
}

// Ten thousand designs by a dozen metrics: six digits are enough for a picture.
std::string short_json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

std::string network_json(const std::string& network) {
  return network.empty() ? "null" : json_string(network);
}

}  // namespace

std::string chosen_json(const Results& results, const std::vector<ChosenRows>& chosen,
                        const std::vector<const Metric*>& metrics, std::string_view list) {
  std::vector<std::string> items;
  for (const ChosenRows& part : chosen) {
    for (std::size_t rank = 0; rank < part.rows.size(); ++rank) {
      const ResultRow& row = part.rows[rank];
      const ResultDesign& design = results.designs[row.design];
      JsonLine settings;
      for (const auto& [name, value] : design.settings) settings.raw(name, json_value(value));
      JsonLine values;
      for (std::size_t i = 0; i < results.metrics.size(); ++i)
        values.field(results.metrics[i], row.metrics[i]);
      JsonLine asked;
      for (const Metric* metric : metrics) asked.field(metric->name(), metric->value(row));
      items.push_back(fmt::format("    {}", JsonLine()
                                                .raw("network", network_json(part.network))
                                                .field("rank", static_cast<std::int64_t>(rank + 1))
                                                .field("of", static_cast<std::int64_t>(part.of))
                                                .field("design", design.id)
                                                .field("machine", std::string_view(design.machine))
                                                .field("parameters", std::string_view(design.parameters))
                                                .raw("asked", asked.text())
                                                .raw("metrics", values.text())
                                                .raw("settings", settings.text())
                                                .text()));
    }
  }
  return json_document(list, items);
}

std::string effects_json(const std::vector<MetricEffects>& all) {
  std::vector<std::string> items;
  for (const MetricEffects& one : all) {
    for (const Effect& effect : one.effects) {
      std::vector<std::string> levels;
      for (const EffectLevel& level : effect.levels) {
        levels.push_back(JsonLine()
                             .raw("value", json_value(level.value))
                             .field("relative", level.relative)
                             .field("rows", static_cast<std::int64_t>(level.rows))
                             .text());
      }
      items.push_back(fmt::format("    {}", JsonLine()
                                                .field("metric", std::string_view(one.metric))
                                                .raw("network", network_json(one.network))
                                                .field("parameter", std::string_view(effect.parameter))
                                                .field("ratio", effect.ratio)
                                                .field("share_of_variance", effect.share)
                                                .raw("best", json_value(effect.levels[effect.best].value))
                                                .raw("worst", json_value(effect.levels[effect.worst].value))
                                                .raw("levels", json_list(levels))
                                                .text()));
    }
  }
  return json_document("effects", items);
}

std::string diff_json(const DesignDiff& diff) {
  std::vector<std::string> items;
  for (const SettingDifference& one : diff.settings) {
    items.push_back(fmt::format("    {}", JsonLine()
                                              .field("setting", std::string_view(one.name))
                                              .raw("a", json_value(one.a))
                                              .raw("b", json_value(one.b))
                                              .text()));
  }
  for (const MetricDifference& one : diff.metrics) {
    items.push_back(fmt::format("    {}", JsonLine()
                                              .field("network", std::string_view(one.network))
                                              .field("metric", std::string_view(one.metric))
                                              .field("a", one.a)
                                              .field("b", one.b)
                                              .field("ratio", one.ratio)
                                              .text()));
  }
  return json_document("differences", items);
}

std::string page_json(const Results& results, const std::string& condition, const Metric& x,
                      const Metric& y) {
  // Values of a parameter as a list, and of each design the place in it; -1: it has none.
  std::vector<std::string> parameters;
  for (const std::string& name : results.parameters) {
    std::set<Value> values;
    for (const ResultDesign& design : results.designs) {
      const Value value = design.setting(name);
      if (!std::holds_alternative<std::monostate>(value)) values.insert(value);
    }
    std::map<Value, int> places;
    std::vector<std::string> texts;
    for (const Value& value : values) {
      places[value] = static_cast<int>(texts.size());
      texts.push_back(json_value(value));
    }
    std::vector<int> of;
    for (const ResultDesign& design : results.designs) {
      const auto found = places.find(design.setting(name));
      of.push_back(found == places.end() ? -1 : found->second);
    }
    parameters.push_back(JsonLine()
                             .field("name", std::string_view(name))
                             .raw("values", json_list(texts))
                             .raw("of", fmt::format("[{}]", fmt::join(of, ",")))
                             .text());
  }
  std::vector<std::string> metrics = results.metrics;
  for (const Metric* metric : {&x, &y}) {
    if (results.metric(metric->name()) == results.metrics.size()) metrics.push_back(metric->name());
  }
  std::vector<std::string> sets;
  const auto add_set = [&](const std::string& network, const std::vector<ResultRow>& rows) {
    std::vector<std::size_t> designs;
    std::vector<std::string> columns(metrics.size());
    for (const ResultRow& row : rows) {
      designs.push_back(row.design);
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        double value = 0;
        if (i < row.metrics.size()) {
          value = row.metrics[i];
        } else {
          value = metrics[i] == x.name() ? x.value(row) : y.value(row);
        }
        columns[i] += fmt::format("{}{}", columns[i].empty() ? "" : ",", short_json_number(value));
      }
    }
    for (std::string& column : columns) column = fmt::format("[{}]", column);
    sets.push_back(JsonLine()
                       .raw("network", network_json(network))
                       .raw("designs", fmt::format("[{}]", fmt::join(designs, ",")))
                       .raw("columns", json_list(columns))
                       .text());
  };
  if (results.networks.size() > 1) {
    const std::vector<ResultRow> all = rows_where(results, over_all_networks(results), condition, false);
    if (!all.empty()) add_set("", all);
  }
  for (const RowGroup& group : row_groups(results, condition, true)) add_set(group.network, group.rows);

  std::vector<std::string> designs;
  for (const ResultDesign& design : results.designs) {
    designs.push_back(fmt::format("[{},{},{},{}]", design.id, json_string(design.machine),
                                  json_value(design.setting("model")), json_string(design.parameters)));
  }
  std::vector<std::string> directions;
  std::vector<std::string> units;
  for (const std::string& name : metrics) {
    const bool more = name == x.name()   ? x.maximise()
                      : name == y.name() ? y.maximise()
                                         : higher_is_better(name);
    directions.emplace_back(more ? "true" : "false");
    units.push_back(json_string(metric_unit(name)));
  }
  return JsonLine()
      .field("file", std::string_view(results.file))
      .field("program", std::string_view(results.program))
      .field("where", std::string_view(condition))
      .field("x", std::string_view(x.name()))
      .field("y", std::string_view(y.name()))
      .raw("metrics", json_strings(metrics))
      .raw("more_is_better", json_list(directions))
      .raw("units", json_list(units))
      .raw("parameters", json_list(parameters))
      .raw("designs", json_list(designs))
      .raw("sets", json_list(sets))
      .text();
}

}  // namespace lacuna::sweep
