#include "sweep/answers/effects.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace lacuna::sweep {

namespace {

struct LogSum {
  double sum = 0;
  std::size_t rows = 0;
  double mean() const { return sum / static_cast<double>(rows); }
};

struct EffectSample {
  Value value;
  std::pair<std::string, std::size_t> group;  // machine, network
  double log;
};

Effect effect_of(const std::string& parameter, std::vector<EffectSample> samples, bool maximise) {
  std::map<std::pair<std::string, std::size_t>, LogSum> groups;
  for (const EffectSample& sample : samples) {
    groups[sample.group].sum += sample.log;
    ++groups[sample.group].rows;
  }
  std::map<Value, LogSum> levels;
  double total = 0;
  for (const EffectSample& sample : samples) {
    const double centred = sample.log - groups[sample.group].mean();
    levels[sample.value].sum += centred;
    ++levels[sample.value].rows;
    total += centred * centred;
  }
  Effect effect;
  effect.parameter = parameter;
  double between = 0;
  for (const auto& [value, level] : levels) {
    between += level.mean() * level.mean() * static_cast<double>(level.rows);
    effect.levels.push_back({value, std::exp(level.mean()), level.rows});
  }
  const auto lowest = std::ranges::min_element(effect.levels, {}, &EffectLevel::relative);
  const auto highest = std::ranges::max_element(effect.levels, {}, &EffectLevel::relative);
  effect.ratio = highest->relative / lowest->relative;
  const auto best = maximise ? highest : lowest;
  const auto worst = maximise ? lowest : highest;
  effect.best = static_cast<std::size_t>(best - effect.levels.begin());
  effect.worst = static_cast<std::size_t>(worst - effect.levels.begin());
  // Rounding of logarithms leaves something where nothing varies.
  effect.share = total > 1e-20 ? std::min(1.0, between / total) : 0;
  return effect;
}

}  // namespace

std::vector<Effect> main_effects(const Results& results, const std::vector<ResultRow>& rows,
                                 const Metric& metric) {
  std::vector<Effect> effects;
  for (const std::string& parameter : results.parameters) {
    std::vector<EffectSample> samples;
    std::map<Value, int> values;
    for (const ResultRow& row : rows) {
      const ResultDesign& design = results.designs[row.design];
      const Value value = design.setting(parameter);
      const double number = metric.value(row);
      if (std::holds_alternative<std::monostate>(value) || !(number > 0) || std::isinf(number)) continue;
      const std::string group = parameter == "machine" ? "" : design.machine;
      samples.push_back({value, {group, row.network}, std::log(number)});
      values[value] = 1;
    }
    if (values.size() > 1) effects.push_back(effect_of(parameter, std::move(samples), metric.maximise()));
  }
  std::ranges::stable_sort(effects, [](const Effect& a, const Effect& b) { return a.ratio > b.ratio; });
  return effects;
}

std::string value_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* condition = std::get_if<bool>(&value)) return *condition ? "on" : "off";
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return "-";
}

}  // namespace lacuna::sweep
