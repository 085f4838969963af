#include "sweep/job/guided_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"
#include "sweep/answers/metric.hpp"

namespace lacuna::sweep {

namespace {

// Dimension 0 is the machine, the others are the plan's axes.
Choice choice_of(const SearchPoint& point) { return {point[0], {point.begin() + 1, point.end()}}; }

// Sizes that grow: neighbours are alike.
bool is_ordered(const PlanAxis& axis) {
  double before = -std::numeric_limits<double>::infinity();
  for (const std::vector<std::string>& values : axis.values) {
    const auto number = parse_number<double>(values[0]);
    if (!number || *number <= before) return false;
    before = *number;
  }
  return true;
}

class GuidedRun {
 public:
  GuidedRun(Sweep& sweep, const PlanSearch& search, Database& database, const GuidedOptions& options)
      : sweep_(sweep), search_(search), database_(database), options_(options) {}

  GuidedProgress run() {
    const SearchSpace space = search_space(sweep_);
    const std::unique_ptr<SearchStrategy> strategy = make_search(search_.options, space);
    if (strategy->propose().empty()) {
      throw InputError(sweep_.plan.strategy.where, "no design that the conditions and limits allow was found",
                       "relax one of them");
    }
    while (!strategy->propose().empty()) {
      const std::vector<Candidate>& candidates = strategy->propose();
      const std::size_t traces = search_.rungs[candidates.front().rung];
      if (!compute(candidates, traces)) break;
      const std::vector<Score> scores = scores_of(traces);
      ++progress_.generation;
      progress_.designs += candidates.size();
      if (traces == sweep_.plan.traces.size()) update_front(scores);
      strategy->tell(scores);
      if (options_.generation) options_.generation(progress_);
    }
    return std::move(progress_);
  }

 private:
  // Returns false if it was stopped.
  bool compute(const std::vector<Candidate>& candidates, std::size_t traces) {
    designs_ = {};
    std::vector<DesignRecord> records;
    for (const Candidate& candidate : candidates) {
      const Choice choice = choice_of(candidate.point);
      const Design design = sweep_.factory.make(choice);
      designs_.entries.push_back({choice, design.record.key, design.machine->sharing_key()});
      records.push_back(design.record);
    }
    database_.add_designs(records);
    const auto used = static_cast<std::ptrdiff_t>(traces);
    const std::vector<std::string> sha256(sweep_.sha256.begin(), sweep_.sha256.begin() + used);
    const std::vector<std::uint64_t> bytes(sweep_.bytes.begin(), sweep_.bytes.begin() + used);
    const WorkList work =
        make_chunks(designs_, sha256, bytes, database_.stored(), sweep_.plan.measures, options_.workers);
    progress_.stored += work.stored;
    if (work.points == 0) return true;
    progress_.computed.add(run_chunks(sweep_, work, database_, options_.run));
    return !progress_.computed.stopped;
  }

  // The geometric mean over the traces decides; a design that failed on one of them has failed.
  std::vector<Score> scores_of(std::size_t traces) const {
    std::vector<std::vector<std::string>> keys;
    for (const DesignList::Entry& entry : designs_.entries) {
      keys.emplace_back();
      for (std::size_t trace = 0; trace < traces; ++trace) {
        keys.back().push_back(point_key(entry.key, sweep_.sha256[trace]));
      }
    }
    const Results results = read_points(database_, keys);
    constexpr double kFailed = std::numeric_limits<double>::infinity();
    std::vector<Score> scores(keys.size(), {std::vector<double>(search_.objectives.size(), 0), kFailed});
    const std::string& where = sweep_.plan.strategy.where;
    std::vector<Metric> objectives;
    for (const std::string& objective : search_.objectives)
      objectives.emplace_back(objective, where, results, false);
    std::unique_ptr<RowExpression> subject;
    if (!search_.subject_to.empty()) {
      subject = std::make_unique<RowExpression>(search_.subject_to, where, results, false);
    }
    for (const ResultRow& row : over_all_networks(results)) {
      Score score{{}, subject ? subject->shortfall(row) : 0};
      for (const Metric& objective : objectives) score.objectives.push_back(objective.badness(row));
      const bool known =
          std::ranges::none_of(score.objectives, [](double value) { return std::isnan(value); });
      if (known) scores[row.design] = std::move(score);
    }
    return scores;
  }

  void update_front(const std::vector<Score>& scores) {
    std::ranges::copy_if(scores, std::back_inserter(front_),
                         [](const Score& score) { return score.violation == 0; });
    std::vector<Score> kept;
    for (const std::size_t index : pareto_front(front_)) kept.push_back(front_[index]);
    front_ = std::move(kept);
    progress_.front = front_.size();
  }

  Sweep& sweep_;
  const PlanSearch& search_;
  Database& database_;
  const GuidedOptions& options_;
  DesignList designs_;  // of the generation
  GuidedProgress progress_;
  std::vector<Score> front_;
};

}  // namespace

SearchSpace search_space(Sweep& sweep) {
  SearchSpace space;
  space.dimensions.push_back({static_cast<std::uint32_t>(sweep.plan.machines.size()), false});
  for (const PlanAxis& axis : sweep.plan.axes) {
    space.dimensions.push_back({static_cast<std::uint32_t>(axis.values.size()), is_ordered(axis)});
  }
  space.settle = [&sweep](SearchPoint& point) {
    for (std::size_t axis = 0; axis < sweep.plan.axes.size(); ++axis) {
      if (!sweep.space.applies(point[0], axis)) point[axis + 1] = 0;
    }
  };
  space.allowed = [&sweep](const SearchPoint& point) {
    const Choice choice = choice_of(point);
    if (!sweep.space.allowed(choice)) return false;
    try {
      return sweep.factory.within_limits(choice, sweep.factory.make(choice));
    } catch (const InputError&) {  // parameters that do not go together
      return false;
    }
  };
  return space;
}

GuidedProgress run_guided(Sweep& sweep, const PlanSearch& search, Database& database,
                          const GuidedOptions& options) {
  return GuidedRun(sweep, search, database, options).run();
}

}  // namespace lacuna::sweep
