#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "sweep/answers/answers.hpp"

namespace lacuna::sweep {

namespace {

std::string titled(const std::string& metric) {
  const std::string_view unit = metric_unit(metric);
  return unit.empty() || unit == "x" || unit == metric || metric.ends_with("mm2")
             ? metric
             : fmt::format("{} [{}]", metric, unit);
}

std::string network_name(const std::string& network) {
  return network.empty() ? "all networks" : printable(network);
}

std::string parameters_text(const ResultDesign& design) {
  return design.parameters.empty() ? "(defaults)" : printable(design.parameters);
}

std::string level_name(const Effect& effect, std::size_t level) {
  return printable(value_text(effect.levels[level].value));
}

std::vector<std::string> metrics_in(const std::vector<MetricEffects>& all) {
  std::vector<std::string> metrics;
  for (const MetricEffects& one : all) {
    if (std::ranges::find(metrics, one.metric) == metrics.end()) metrics.push_back(one.metric);
  }
  return metrics;
}

// One table per metric: the effects on all networks together, then the ratio on each.
std::string effects_table(const std::vector<const MetricEffects*>& parts, const TextStyle& style) {
  std::vector<TableColumn> columns = {
      {"parameter", Align::kLeft}, {"best", Align::kLeft}, {"worst", Align::kLeft}};
  for (const MetricEffects* part : parts) {
    columns.push_back({"effect", Align::kRight, network_name(part->network)});
    columns.push_back({"of variance", Align::kRight, network_name(part->network)});
  }
  TextTable table(columns);
  for (const Effect& effect : parts.front()->effects) {
    std::vector<std::string> cells = {printable(effect.parameter), level_name(effect, effect.best),
                                      level_name(effect, effect.worst)};
    for (const MetricEffects* part : parts) {
      const auto found = std::ranges::find(part->effects, effect.parameter, &Effect::parameter);
      const bool there = found != part->effects.end();
      cells.push_back(there ? fmt::format("{:.2f}x", found->ratio) : "-");
      cells.push_back(there ? fmt::format("{:.0f} %", 100 * found->share) : "-");
    }
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

}  // namespace

std::string chosen_text(const Results& results, const std::vector<RowGroup>& chosen,
                        const std::vector<const Metric*>& first, const TextStyle& style) {
  std::vector<std::string> others;
  for (const std::string name : kUsualMetrics) {
    const bool asked =
        std::ranges::any_of(first, [&](const Metric* metric) { return metric->name() == name; });
    if (!asked && results.metric(name) < results.metrics.size()) others.push_back(name);
  }
  const bool networks = chosen.size() > 1 || (chosen.size() == 1 && !chosen[0].network.empty());
  std::vector<TableColumn> columns;
  if (networks) columns.push_back({"network", Align::kLeft});
  columns.insert(columns.end(), {{"design"}, {"machine", Align::kLeft}, {"parameters", Align::kLeft}});
  for (const Metric* metric : first) columns.push_back({titled(metric->name())});
  for (const std::string& name : others) columns.push_back({titled(name)});
  TextTable table(columns);
  bool begun = false;
  for (const RowGroup& part : chosen) {
    if (begun && part.rows.size() > 1) table.add_rule();
    for (const ResultRow& row : part.rows) {
      const ResultDesign& design = results.designs[row.design];
      std::vector<std::string> cells;
      if (networks) cells.push_back(printable(part.network));
      cells.insert(cells.end(),
                   {std::to_string(design.id), printable(design.machine), parameters_text(design)});
      for (const Metric* metric : first) cells.push_back(metric_text(metric->value(row)));
      for (const std::string& name : others) cells.push_back(metric_text(row.metrics[results.metric(name)]));
      table.add_row(std::move(cells));
      begun = true;
    }
  }
  return table.render(style);
}

std::string effects_text(const std::vector<MetricEffects>& all, const TextStyle& style) {
  std::string text;
  for (const std::string& metric : metrics_in(all)) {
    std::vector<const MetricEffects*> parts;
    for (const MetricEffects& one : all) {
      if (one.metric == metric) parts.push_back(&one);
    }
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                        bold_text(fmt::format("What moves {}", titled(metric)), style));
    if (parts.front()->effects.empty()) {
      text += "no parameter has more than one value here\n";
      continue;
    }
    text += effects_table(parts, style);
  }
  text += "\neffect: mean of the highest value over that of the lowest, the other parameters averaged\n";
  return text;
}

std::string levels_text(const std::vector<MetricEffects>& all, const std::string& parameter,
                        const TextStyle& style) {
  std::vector<TableColumn> columns = {{parameter, Align::kLeft}};
  std::vector<const Effect*> effects;
  std::set<Value> values;
  for (const MetricEffects& one : all) {
    const auto found = std::ranges::find(one.effects, parameter, &Effect::parameter);
    if (found == one.effects.end()) continue;
    columns.push_back({one.metric, Align::kRight, network_name(one.network)});
    effects.push_back(&*found);
    for (const EffectLevel& level : found->levels) values.insert(level.value);
  }
  TextTable table(columns);
  for (const Value& value : values) {
    std::vector<std::string> cells = {printable(value_text(value))};
    for (const Effect* effect : effects) {
      const auto found = std::ranges::find(effect->levels, value, &EffectLevel::value);
      cells.push_back(found == effect->levels.end() ? "-" : fmt::format("{:.3f}x", found->relative));
    }
    table.add_row(std::move(cells));
  }
  return table.render(style) +
         "\nrelative to the geometric mean of the designs of the same machine on the same network\n";
}

std::string diff_text(const DesignDiff& diff, const TextStyle& style) {
  const auto name = [](const ResultDesign& design) {
    return fmt::format("design {}: {} {}", design.id, printable(design.machine), parameters_text(design));
  };
  std::string text = fmt::format("A  {}\nB  {}\n\n", name(*diff.a), name(*diff.b));
  if (diff.settings.empty()) {
    text += "All settings are equal.\n";
  } else {
    TextTable settings({{"setting", Align::kLeft}, {"A"}, {"B"}});
    for (const SettingDifference& one : diff.settings) {
      settings.add_row({printable(one.name), printable(value_text(one.a)), printable(value_text(one.b))});
    }
    text += settings.render(style);
    text += fmt::format("{} equal\n", counted(static_cast<std::int64_t>(diff.equal_settings), "setting"));
  }
  if (diff.metrics.empty()) return text + "\nNo network has results of both.\n";
  TextTable metrics({{"network", Align::kLeft}, {"metric", Align::kLeft}, {"A"}, {"B"}, {"B / A"}});
  std::string before;
  for (const MetricDifference& one : diff.metrics) {
    if (std::isnan(one.a) && std::isnan(one.b)) continue;
    if (!before.empty() && before != one.network) metrics.add_rule();
    metrics.add_row({before == one.network ? "" : printable(one.network), titled(one.metric),
                     metric_text(one.a), metric_text(one.b),
                     std::isnan(one.ratio) ? "-" : fmt::format("{:.3f}", one.ratio)});
    before = one.network;
  }
  return text + "\n" + metrics.render(style);
}

std::string remarks_text(const Results& results, const std::vector<RowGroup>& compared) {
  std::string text;
  const auto values = [&](const std::string& name) {
    std::set<Value> all;
    for (const RowGroup& group : compared) {
      for (const ResultRow& row : group.rows) all.insert(results.value(row, name));
    }
    return all;
  };
  const std::set<Value> memories = values("memory");
  if (memories.contains(Value("ideal")) && memories.contains(Value("modelled"))) {
    text +=
        "warning: some of these designs wait for memory and others do not: their times do not compare "
        "(--where \"memory = 'modelled'\")\n";
  }
  if ((values("dram_channels").size() > 1 || values("dram_channel_bits").size() > 1) &&
      values("static_costs").contains(Value("dram"))) {
    text +=
        "warning: these designs differ in DRAM channels, and the area of channels is not counted "
        "('static_costs: [all]' in the plan counts it)\n";
  }
  if (!results.other_programs.empty()) {
    text += fmt::format("Results of lacuna {}; the file also holds some of {} (--program)\n", results.program,
                        fmt::join(results.other_programs, ", "));
  }
  if (results.left_out > 0) {
    text += fmt::format("{} left out: not all traces of their network are computed\n",
                        counted(static_cast<std::int64_t>(results.left_out), "result"));
  }
  return text;
}

Scatter make_scatter(const Results& results, const RowGroup& group, const std::vector<ResultRow>& front,
                     const Metric& x, const Metric& y) {
  const auto direction = [](const Metric& metric) {
    const std::string_view unit = metric_unit(metric.name());
    return fmt::format("{}{}, {} is better", metric.name(), unit.empty() ? "" : fmt::format(" [{}]", unit),
                       metric.maximise() ? "more" : "less");
  };
  const std::string over =
      group.network.empty() ? fmt::format("{} networks", results.networks.size()) : printable(group.network);
  Scatter scatter{.title = fmt::format("{} over {}, {}", y.name(), x.name(), over),
                  .x_title = direction(x),
                  .y_title = direction(y),
                  .points = {}};
  std::vector<bool> on_front(results.designs.size(), false);
  for (const ResultRow& row : front) on_front[row.design] = true;
  for (const ResultRow& row : group.rows) {
    const ScatterPoint point{x.value(row), y.value(row), on_front[row.design]};
    if (std::isfinite(point.x) && std::isfinite(point.y)) scatter.points.push_back(point);
  }
  return scatter;
}

}  // namespace lacuna::sweep
