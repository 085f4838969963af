#include "sweep/answers/answers.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/search/pareto.hpp"

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

std::vector<RowGroup> row_groups(const Results& results, const std::string& condition, bool per_network) {
  const std::vector<ResultRow> all = per_network ? results.rows : over_all_networks(results);
  if (all.empty()) {
    throw InputError(results.file, "no design has results for every network yet",
                     "let the sweep finish, or ask with --per-network or --network NAME");
  }
  const std::vector<ResultRow> kept = rows_where(results, all, condition, per_network);
  if (kept.empty()) {
    throw InputError("--where",
                     fmt::format("none of the {} rows meets {}", all.size(), quote_name(condition)),
                     "loosen the condition");
  }
  if (!per_network) {
    return {{results.networks.size() == 1 ? results.networks[0] : "", kept, kept.size()}};
  }
  std::vector<RowGroup> groups;
  for (std::size_t network = 0; network < results.networks.size(); ++network) {
    RowGroup group{results.networks[network], {}};
    std::ranges::copy_if(kept, std::back_inserter(group.rows),
                         [&](const ResultRow& row) { return row.network == network; });
    group.of = group.rows.size();
    if (!group.rows.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ResultRow> best_rows(const std::vector<ResultRow>& rows, const Metric& metric, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double badness = metric.badness(rows[i]);
    if (!std::isnan(badness)) order.emplace_back(badness, i);
  }
  std::ranges::sort(order);
  std::vector<ResultRow> best;
  for (const auto& [badness, i] : order) {
    if (best.size() == most) break;
    best.push_back(rows[i]);
  }
  return best;
}

std::vector<ResultRow> front_rows(const std::vector<ResultRow>& rows,
                                  const std::vector<const Metric*>& metrics) {
  std::vector<Score> scores;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Score score;
    for (const Metric* metric : metrics) score.objectives.push_back(metric->badness(rows[i]));
    if (std::ranges::any_of(score.objectives, [](double value) { return std::isnan(value); })) continue;
    scores.push_back(std::move(score));
    places.push_back(i);
  }
  std::vector<ResultRow> front;
  for (const std::size_t index : pareto_front(scores)) front.push_back(rows[places[index]]);
  std::ranges::stable_sort(front, [&](const ResultRow& a, const ResultRow& b) {
    for (const Metric* metric : metrics) {
      const double of_a = metric->value(a), of_b = metric->value(b);
      if (of_a != of_b) return of_a < of_b;
    }
    return false;
  });
  return front;
}

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

const ResultDesign& find_design(const Results& results, const std::string& design) {
  const auto number = parse_number<std::int64_t>(design);
  const auto found =
      number ? std::ranges::find(results.designs, *number, &ResultDesign::id) : results.designs.end();
  if (found == results.designs.end()) {
    throw InputError(
        results.file, fmt::format("there is no design {}", quote_name(design)),
        "give a number from the column 'design' of 'lacuna sweep best' or 'lacuna sweep pareto'");
  }
  return *found;
}

DesignDiff diff_designs(const Results& results, const ResultDesign& a, const ResultDesign& b) {
  DesignDiff diff{&a, &b, {}, 0, {}};
  std::set<std::string> names;
  for (const ResultDesign* design : {&a, &b}) {
    for (const auto& [name, value] : design->settings) names.insert(name);
  }
  for (const std::string& name : names) {
    const Value left = a.setting(name);
    const Value right = b.setting(name);
    if (left == right) {
      ++diff.equal_settings;
    } else {
      diff.settings.push_back({name, left, right});
    }
  }
  const auto row_of = [&](const ResultDesign& design, std::size_t network) -> const ResultRow* {
    const auto found = std::ranges::find_if(results.rows, [&](const ResultRow& row) {
      return row.network == network && &results.designs[row.design] == &design;
    });
    return found == results.rows.end() ? nullptr : &*found;
  };
  for (std::size_t network = 0; network < results.networks.size(); ++network) {
    const ResultRow* left = row_of(a, network);
    const ResultRow* right = row_of(b, network);
    if (left == nullptr || right == nullptr) continue;
    for (std::size_t i = 0; i < results.metrics.size(); ++i) {
      const double from = left->metrics[i];
      const double to = right->metrics[i];
      const double ratio = from != 0 ? to / from : std::numeric_limits<double>::quiet_NaN();
      diff.metrics.push_back({results.networks[network], results.metrics[i], from, to, ratio});
    }
  }
  return diff;
}

}  // namespace lacuna::sweep
