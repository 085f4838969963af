#include "sweep/answers/questions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/answers/answers.hpp"

namespace lacuna::sweep {
namespace {

bool has_values(const Results& results, const std::string& name) {
  const std::size_t at = results.metric(name);
  return at < results.metrics.size() && std::ranges::any_of(results.rows, [&](const ResultRow& row) {
           return !std::isnan(row.metrics[at]);
         });
}

std::string names_text(const std::vector<const Metric*>& metrics) {
  std::string text;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                   ? ""
                        : i + 1 < metrics.size() ? ", "
                                                 : " and ",
                        printable(metrics[i]->name()));
  return text;
}

}  // namespace

Answer answer(const BestQuestion& question, const TextStyle& style) {
  const Results results = read_results(question.results, question.selection);
  const Metric metric(question.metric, "--metric", results, question.per_network);
  const std::uint64_t top = question.top > 0 ? question.top : question.per_network ? 1 : 5;
  std::vector<RowGroup> chosen;
  std::size_t most = 0;
  bool found = false;
  const std::vector<RowGroup> groups = row_groups(results, question.where, question.per_network);
  for (const RowGroup& group : groups) {
    chosen.push_back({group.network, best_rows(group.rows, metric, top), group.of});
    most = std::max(most, group.of);
    found |= !chosen.back().rows.empty();
  }
  if (!found) {
    throw InputError("--metric", fmt::format("no design has a value of {}", quote_name(question.metric)),
                     "measure it in the plan, or ask for another one");
  }
  const std::string over = results.networks.size() > 1 && !question.per_network
                               ? fmt::format(", geometric mean of {} networks", results.networks.size())
                               : "";
  const std::string title =
      fmt::format("Best of {} by {} {}{}", counted(static_cast<std::int64_t>(most), "design"),
                  metric.maximise() ? "highest" : "lowest", metric.name(), over);
  return {.text = fmt::format("{}\n{}{}", bold_text(title, style),
                              chosen_text(results, chosen, {&metric}, style), remarks_text(results, groups)),
          .json = chosen_json(results, chosen, {&metric}, "best")};
}

Answer answer(const ParetoQuestion& question, const TextStyle& style) {
  const Results results = read_results(question.results, question.selection);
  const auto metric = [&](const std::string& name, const char* usual, const char* option) {
    return Metric(name.empty() ? usual : name, option, results, question.per_network);
  };
  const Metric x = metric(question.x, "area_mm2", "--x"), y = metric(question.y, "seconds", "--y");
  std::vector<Metric> more;
  for (const std::string& name : question.also) more.push_back(metric(name, "", "--also"));
  constexpr const char* kEnergy = "energy_joules";
  const bool usual = question.x.empty() && question.y.empty() && question.also.empty();
  if (usual && !question.page && has_values(results, kEnergy)) more.push_back(metric(kEnergy, "", "--also"));
  std::vector<const Metric*> all{&x, &y};
  for (const Metric& each : more) all.push_back(&each);
  Answer answer;
  std::vector<RowGroup> fronts;
  const std::vector<RowGroup> groups = row_groups(results, question.where, question.per_network);
  for (const RowGroup& group : groups) {
    fronts.push_back({group.network, front_rows(group.rows, all), group.of});
    if (fronts.back().rows.empty()) {
      throw InputError(question.results, fmt::format("no design has values of all of {}", names_text(all)),
                       "measure them in the plan, or ask for others by --x, --y and --also");
    }
    const Scatter scatter = make_scatter(results, group, fronts.back().rows, x, y);
    answer.text += scatter_text(scatter, style) + "\n";
  }
  answer.text += fmt::format("Designs that no other beats in {}\n", names_text(all)) +
                 chosen_text(results, fronts, all, style) + remarks_text(results, groups);
  answer.json = chosen_json(results, fronts, all, "front");
  if (question.page) answer.page = page_json(results, question.where, x, y);
  return answer;
}

Answer answer(const EffectsQuestion& question, const TextStyle& style) {
  const Results results = read_results(question.results, question.selection);
  std::vector<std::string> metrics = question.metrics;
  for (const char* usual : kUsualMetrics) {
    if (!question.metrics.empty() || results.metric(usual) == results.metrics.size()) continue;
    metrics.emplace_back(usual);
  }
  if (!question.parameter.empty() &&
      std::ranges::find(results.parameters, question.parameter) == results.parameters.end()) {
    throw InputError(
        "--parameter",
        fmt::format("{} has one value only, or is not a parameter", quote_name(question.parameter)),
        suggest(question.parameter, results.parameters));
  }
  // Each row is taken relative to the mean of its network, so those of all networks go together.
  const std::vector<RowGroup> groups = row_groups(results, question.where, true);
  std::vector<ResultRow> rows;
  for (const RowGroup& group : groups) rows.insert(rows.end(), group.rows.begin(), group.rows.end());
  std::vector<MetricEffects> all;
  for (const std::string& name : metrics) {
    const Metric metric(name, "--metric", results, true);
    all.push_back(
        {metric.name(), groups.size() == 1 ? groups[0].network : "", main_effects(results, rows, metric)});
    if (!question.per_network || groups.size() == 1) continue;
    for (const RowGroup& group : groups) {
      all.push_back({metric.name(), group.network, main_effects(results, group.rows, metric)});
    }
  }
  const std::string text =
      question.parameter.empty() ? effects_text(all, style) : levels_text(all, question.parameter, style);
  return {.text = text + remarks_text(results), .json = effects_json(all)};
}

Answer answer(const DiffQuestion& question, const TextStyle& style) {
  const Results results = read_results(question.results, question.selection);
  const DesignDiff diff =
      diff_designs(results, find_design(results, question.a), find_design(results, question.b));
  return {.text = diff_text(diff, style), .json = diff_json(diff)};
}

}  // namespace lacuna::sweep
