#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/answers/metric.hpp"
#include "sweep/job/guided_sweep.hpp"
#include "sweep/store/schema.hpp"

namespace lacuna::sweep {

namespace {

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else if (c != ' ' || !words.back().empty()) {
      words.back() += c;
    }
  }
  return words;
}

// The counts that a strategy has as settings.
struct CountSetting {
  std::string_view strategy;
  const char* name;
  std::uint32_t SearchOptions::*value;
  std::int64_t least;
};
constexpr CountSetting kCounts[] = {{"nsga2", "population", &SearchOptions::population, 2},
                                    {"nsga2", "generations", &SearchOptions::generations, 1},
                                    {"random", "points", &SearchOptions::points, 1},
                                    {"successive-halving", "points", &SearchOptions::points, 1},
                                    {"successive-halving", "keep_one_in", &SearchOptions::keep_one_in, 2}};

// The settings of a strategy with their defaults.
Params settings_of(const std::string& strategy) {
  const SearchOptions usual;
  std::vector<ParamSpec> specs = {ParamSpec::integer("seed", static_cast<std::int64_t>(usual.seed), 0,
                                                     std::numeric_limits<std::int64_t>::max(), "", "", ""),
                                  ParamSpec::text("objectives", "seconds,energy_joules,area_mm2", "", ""),
                                  ParamSpec::text("subject_to", "", "", "")};
  for (const auto& [owner, name, value, least] : kCounts) {
    if (owner == strategy)
      specs.push_back(ParamSpec::integer(name, usual.*value, least, 100'000, "", "", ""));
  }
  if (strategy == "successive-halving") specs.push_back(ParamSpec::text("rungs", "", "", ""));
  return {strategy, std::move(specs)};
}

// Numbers of traces, the last one all of them. By default one trace first, then all.
std::vector<std::size_t> read_rungs(const std::string& text, std::size_t traces, const std::string& where) {
  std::vector<std::size_t> rungs;
  const std::string usual = traces > 1 ? fmt::format("1,{}", traces) : "1";
  for (const std::string& word : split_words(text.empty() ? usual : text)) {
    const auto value = parse_number<std::size_t>(word);
    if (!value || *value <= (rungs.empty() ? 0 : rungs.back()) || *value > traces) {
      throw InputError(where, "'rungs' must be growing numbers of traces",
                       fmt::format("the plan has {}: write for instance [{}]", traces, usual));
    }
    rungs.push_back(*value);
  }
  if (rungs.back() != traces) rungs.push_back(traces);
  return rungs;
}

PlanSearch read_settings(const Plan& plan) {
  const PlanStrategy& strategy = plan.strategy;
  std::vector<std::string> known = {"grid"};
  known.insert(known.end(), search_strategies().begin(), search_strategies().end());
  if (std::ranges::find(known, strategy.name) == known.end()) {
    throw InputError(strategy.where, fmt::format("unknown strategy {}", quote_name(strategy.name)),
                     suggest(strategy.name, known));
  }
  Params settings = settings_of(strategy.name);
  for (const auto& [name, value] : strategy.settings) settings.set(name, value, strategy.where);
  PlanSearch search;
  SearchOptions& options = search.options;
  options.strategy = strategy.name;
  options.seed = static_cast<std::uint64_t>(settings.integer("seed"));
  for (const auto& [owner, name, value, least] : kCounts) {
    if (owner == strategy.name) options.*value = static_cast<std::uint32_t>(settings.integer(name));
  }
  search.objectives = split_words(settings.text("objectives"));
  if (!strategy.settings.contains("objectives")) {
    const auto drop = [&](Measure measure, std::string_view objective) {
      if ((plan.measures & measures_of(measure)) == 0) std::erase(search.objectives, objective);
    };
    drop(Measure::kEnergy, "energy_joules");
    drop(Measure::kArea, "area_mm2");
  }
  search.subject_to = settings.text("subject_to");
  search.rungs = {plan.traces.size()};
  if (settings.has("rungs")) {
    search.rungs = read_rungs(settings.text("rungs"), plan.traces.size(), strategy.where);
  }
  options.rungs = static_cast<std::uint32_t>(search.rungs.size());
  const std::uint64_t most = largest_number_of_points(options) * plan.traces.size();
  if (most > Plan::kMostPoints) {
    throw InputError(strategy.where, fmt::format("the search may ask for {} points", most),
                     fmt::format("at most {} are computed: search less", Plan::kMostPoints));
  }
  return search;
}

}  // namespace

PlanSearch read_search(const Plan& plan) {
  PlanSearch search = read_settings(plan);
  // Names of metrics and of parameters, before anything is computed.
  Results names;
  for (const MetricColumn& metric : metric_columns()) names.metrics.push_back(metric.name);
  names.networks = {""};
  names.designs.emplace_back();
  for (const Machine& machine : plan.machines) {
    for (const ParamSpec& spec : machine.params.specs()) names.designs[0].settings[spec.name];
  }
  names.designs[0].settings["machine"];
  const std::string where = plan.strategy.where;
  for (const std::string& objective : search.objectives) {
    const Metric checked(objective, fmt::format("{}: objective {}", where, quote_name(objective)), names,
                         false);
  }
  if (!search.subject_to.empty()) {
    const RowExpression checked(search.subject_to, fmt::format("{}: subject_to", where), names, false);
  }
  return search;
}

}  // namespace lacuna::sweep
