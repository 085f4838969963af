#include "sweep/job/plan_search.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/answers/metric.hpp"
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

class SearchReader {
 public:
  explicit SearchReader(const Plan& plan) : plan_(plan), strategy_(plan.strategy) {}

  PlanSearch read() {
    if (std::ranges::find(search_strategies(), strategy_.name) == search_strategies().end()) {
      std::vector<std::string> known = {"grid"};
      known.insert(known.end(), search_strategies().begin(), search_strategies().end());
      throw InputError(strategy_.where, fmt::format("unknown strategy {}", quote_name(strategy_.name)),
                       suggest(strategy_.name, known));
    }
    check_names();
    SearchOptions& options = search_.options;
    options.strategy = strategy_.name;
    options.seed = number("seed", options.seed, 0, ~std::uint64_t{0});
    options.points = small("points", options.points, 1);
    options.population = small("population", options.population, 2);
    options.generations = small("generations", options.generations, 1);
    options.keep_one_in = small("keep_one_in", options.keep_one_in, 2);
    search_.objectives = split_words(text("objectives", "speedup,area_mm2"));
    search_.subject_to = text("subject_to", "");
    read_rungs();
    const std::uint64_t most = largest_number_of_points(options) * plan_.traces.size();
    if (most > Plan::kMostPoints) {
      throw InputError(strategy_.where, fmt::format("the search may ask for {} points", most),
                       fmt::format("at most {} are computed: search less", Plan::kMostPoints));
    }
    return search_;
  }

 private:
  void check_names() const {
    std::vector<std::string> known = {"seed", "objectives", "subject_to"};
    if (strategy_.name == "nsga2") {
      known.insert(known.end(), {"population", "generations"});
    } else {
      known.emplace_back("points");
    }
    if (strategy_.name == "successive-halving") known.insert(known.end(), {"keep_one_in", "rungs"});
    for (const auto& [name, value] : strategy_.settings) {
      if (std::ranges::find(known, name) != known.end()) continue;
      throw InputError(strategy_.where,
                       fmt::format("the strategy '{}' has no setting {}", strategy_.name, quote_name(name)),
                       suggest(name, known));
    }
  }

  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = strategy_.settings.find(name);
    return found == strategy_.settings.end() ? otherwise : found->second;
  }

  std::uint64_t number(const std::string& name, std::uint64_t otherwise, std::uint64_t least,
                       std::uint64_t most) const {
    const auto found = strategy_.settings.find(name);
    if (found == strategy_.settings.end()) return otherwise;
    const auto value = parse_number<std::uint64_t>(found->second);
    if (!value || *value < least || *value > most) {
      throw InputError(strategy_.where,
                       fmt::format("'{}' is {}, not a whole number from {} to {}", name,
                                   quote_name(found->second), least, most),
                       "correct it");
    }
    return *value;
  }
  std::uint32_t small(const std::string& name, std::uint32_t otherwise, std::uint32_t least) const {
    return static_cast<std::uint32_t>(number(name, otherwise, least, 100'000));
  }

  // By default one trace first, then all of them.
  void read_rungs() {
    const std::size_t traces = plan_.traces.size();
    search_.rungs = {traces};
    if (strategy_.name == "successive-halving") {
      search_.rungs.clear();
      const std::string otherwise = traces > 1 ? fmt::format("1,{}", traces) : "1";
      for (const std::string& word : split_words(text("rungs", otherwise))) {
        const auto value = parse_number<std::size_t>(word);
        const std::size_t before = search_.rungs.empty() ? 0 : search_.rungs.back();
        if (!value || *value <= before || *value > traces) {
          throw InputError(strategy_.where, "'rungs' must be growing numbers of traces",
                           fmt::format("the plan has {}: write for instance [{}]", traces, otherwise));
        }
        search_.rungs.push_back(*value);
      }
      if (search_.rungs.back() != traces) search_.rungs.push_back(traces);
    }
    search_.options.rungs = static_cast<std::uint32_t>(search_.rungs.size());
  }

  const Plan& plan_;
  const PlanStrategy& strategy_;
  PlanSearch search_;
};

}  // namespace

PlanSearch read_search(const Plan& plan) {
  PlanSearch search = SearchReader(plan).read();
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
