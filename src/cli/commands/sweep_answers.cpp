#include "cli/commands/sweep_answers.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/answers/answers_text.hpp"

namespace lacuna::cli {
namespace {

using sweep::ChosenRows;
using sweep::Metric;
using sweep::MetricEffects;
using sweep::Results;
using sweep::RowGroup;

// What every question has.
struct Question {
  std::string results;
  sweep::ResultSelection selection;
  std::string where;
  bool per_network = false;
  std::string json;

  Results read() const {
    if (!json.empty()) check_result_files(json, "", {results});
    return sweep::read_results(results, selection);
  }
  // Tables, or JSON: to a file beside them, to standard output instead of them.
  template <typename Json, typename Text>
  void answer(const Json& make_json, const Text& make_text) const {
    if (!json.empty()) write_result(json, make_json());
    if (json != kStandardOutput) print_text(make_text());
  }
};

void add_question(CLI::App& command, Question& question, bool rows) {
  command.add_option("RESULTS", question.results, "The file that 'lacuna sweep PLAN -o FILE' wrote")
      ->required()
      ->type_name("");
  if (rows) {
    command
        .add_option(
            "--where", question.where,
            "Only designs that meet a condition on parameters and metrics: 'area_mm2 < 40 and rows >= 4'")
        ->type_name("CONDITION");
    command.add_flag("--per-network", question.per_network,
                     "Each network by itself (default: the geometric mean of all)");
  }
  command.add_option("--network", question.selection.networks, "Only these networks, separated by ','")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      .add_option("--program", question.selection.program,
                  "Results of this version, as the column 'program' has it (default: the latest)")
      ->type_name("VERSION");
  command
      .add_option("--json", question.json, "Write the answer as JSON; '-': to standard output, and no tables")
      ->check(not_empty())
      ->type_name("FILE|-");
}

struct BestOptions : Question {
  std::string metric = "speedup";
  std::uint64_t top = 0;
};

void run_best(const BestOptions& options) {
  const Results results = options.read();
  const Metric metric(options.metric, "--metric", results, options.per_network);
  const std::vector<RowGroup> groups = row_groups(results, options.where, options.per_network);
  const std::uint64_t top = options.top > 0 ? options.top : options.per_network ? 1 : 5;
  std::vector<ChosenRows> chosen;
  std::size_t rows = 0;
  for (const RowGroup& group : groups) {
    chosen.push_back({group.network, group.rows.size(), best_rows(group.rows, metric, top)});
    rows += chosen.back().rows.size();
  }
  if (rows == 0) {
    throw InputError("--metric", fmt::format("no design has a value of {}", quote_name(options.metric)),
                     "measure it in the plan, or ask for another one");
  }
  options.answer(
      [&] { return chosen_json(results, chosen, {&metric}, "best"); },
      [&] {
        std::size_t all = 0;
        for (const ChosenRows& part : chosen) all = std::max(all, part.of);
        const std::string over = results.networks.size() > 1 && !options.per_network
                                     ? fmt::format(", geometric mean of {} networks", results.networks.size())
                                     : "";
        return fmt::format(
            "{}\n{}{}",
            bold_text(fmt::format("Best of {} by {} {}{}", counted(static_cast<std::int64_t>(all), "design"),
                                  metric.maximise() ? "highest" : "lowest", metric.name(), over),
                      output_style()),
            chosen_text(results, chosen, {&metric}, output_style()), remarks_text(results));
      });
}

struct ParetoOptions : Question {
  std::string x = "area_mm2";
  std::string y = "speedup";
  std::string svg;
  std::string html;
};

void run_pareto(const ParetoOptions& options) {
  check_html(options.html, {options.results}, {options.svg, options.json});
  if (!options.svg.empty()) check_can_write(options.svg, "--svg", {options.results});
  if (!options.svg.empty() && options.per_network) {
    throw InputError("--svg", "a picture is of one network or of all together",
                     "choose one by --network NAME, or leave out --per-network");
  }
  const Results results = options.read();
  const Metric x(options.x, "--x", results, options.per_network);
  const Metric y(options.y, "--y", results, options.per_network);
  std::vector<ChosenRows> fronts;
  std::vector<sweep::Scatter> scatters;
  for (const RowGroup& group : row_groups(results, options.where, options.per_network)) {
    fronts.push_back({group.network, group.rows.size(), front_rows(group.rows, x, y)});
    if (fronts.back().rows.empty()) {
      throw InputError(
          options.results,
          fmt::format("no design has values of both {} and {}", quote_name(x.name()), quote_name(y.name())),
          "measure them in the plan, or ask for others by --x and --y");
    }
    scatters.push_back(make_scatter(results, group, fronts.back().rows, x, y));
  }
  if (!options.svg.empty()) write_result(options.svg, scatter_svg(scatters[0]));
  if (!options.html.empty()) {
    write_html(options.html, "sweep", {{"sweep", page_json(results, options.where, x, y)}});
  }
  options.answer(
      [&] {
        return chosen_json(results, fronts, {&x, &y}, "front");
      },
      [&] {
        std::string text;
        for (const sweep::Scatter& scatter : scatters) {
          text += fmt::format("{}\n", scatter_text(scatter, output_style()));
        }
        return text + chosen_text(results, fronts, {&x, &y}, output_style()) + remarks_text(results);
      });
}

struct EffectsOptions : Question {
  std::vector<std::string> metrics;
  std::string parameter;
};

void run_effects(const EffectsOptions& options) {
  const Results results = options.read();
  std::vector<std::string> metrics = options.metrics;
  for (const char* usual : {"speedup", "energy_efficiency", "energy_delay", "area_mm2"}) {
    if (options.metrics.empty() && results.metric(usual) < results.metrics.size())
      metrics.emplace_back(usual);
  }
  if (!options.parameter.empty() &&
      std::ranges::find(results.parameters, options.parameter) == results.parameters.end()) {
    throw InputError(
        "--parameter",
        fmt::format("{} has one value only, or is not a parameter", quote_name(options.parameter)),
        suggest(options.parameter, results.parameters));
  }
  // Each row is taken relative to the mean of its network, so those of all networks go together.
  const std::vector<RowGroup> groups = row_groups(results, options.where, true);
  std::vector<sweep::ResultRow> rows;
  for (const RowGroup& group : groups) rows.insert(rows.end(), group.rows.begin(), group.rows.end());
  std::vector<MetricEffects> all;
  for (const std::string& name : metrics) {
    const Metric metric(name, "--metric", results, true);
    all.push_back({metric.name(), metric.maximise(), groups.size() == 1 ? groups[0].network : "",
                   main_effects(results, rows, metric)});
    for (const RowGroup& group : groups) {
      if (options.per_network && groups.size() > 1) {
        all.push_back(
            {metric.name(), metric.maximise(), group.network, main_effects(results, group.rows, metric)});
      }
    }
  }
  options.answer([&] { return effects_json(all); },
                 [&] {
                   const std::string text = options.parameter.empty()
                                                ? effects_text(all, output_style())
                                                : levels_text(all, options.parameter, output_style());
                   return text + remarks_text(results);
                 });
}

struct DiffOptions : Question {
  std::string a, b;
};

void run_diff(const DiffOptions& options) {
  const Results results = options.read();
  const sweep::DesignDiff diff =
      diff_designs(results, find_design(results, options.a), find_design(results, options.b));
  options.answer([&] { return diff_json(diff); }, [&] { return diff_text(diff, output_style()); });
}

constexpr const char* kMetricHelp =
    "a column of the view 'by_network' or a formula of them, 'min:' or 'max:' in front says which way is "
    "better";

void add_best(CLI::App& sweep) {
  CLI::App* command = sweep.add_subcommand("best", "The best designs of a file of results");
  const auto options = std::make_shared<BestOptions>();
  add_question(*command, *options, true);
  command
      ->add_option("--metric", options->metric,
                   fmt::format("What to judge by: {} (default: speedup)", kMetricHelp))
      ->type_name("METRIC");
  command->add_option("--top", options->top, "How many (default: 5; of each network 1)")
      ->check(whole_number(1))
      ->type_name("N");
  add_examples(*command,
               {{"lacuna sweep best r.sqlite --metric energy_delay --where 'area_mm2 < 40' --per-network",
                 "the best design of each network under a limit"},
                {"lacuna sweep best r.sqlite --metric 'max:speedup / area_mm2'", "a formula"}});
  command->callback([options] { run_best(*options); });
}

void add_pareto(CLI::App& sweep) {
  CLI::App* command = sweep.add_subcommand(
      "pareto", "The designs that no other beats in two metrics, as a picture and a table");
  const auto options = std::make_shared<ParetoOptions>();
  add_question(*command, *options, true);
  command->add_option("--x", options->x, fmt::format("Across: {} (default: area_mm2)", kMetricHelp))
      ->type_name("METRIC");
  command->add_option("--y", options->y, "Up (default: speedup)")->type_name("METRIC");
  command->add_option("--svg", options->svg, "Write the picture as SVG")
      ->check(not_empty())
      ->type_name("FILE");
  add_html_option(*command, options->html);
  add_examples(*command, {{"lacuna sweep pareto r.sqlite --x area_mm2 --y speedup", "in the terminal"},
                          {"lacuna sweep pareto r.sqlite --html front.html", "a page with filters"}});
  command->callback([options] { run_pareto(*options); });
}

void add_effects(CLI::App& sweep) {
  CLI::App* command =
      sweep.add_subcommand("effects", "How much each parameter moves each metric, the others averaged");
  const auto options = std::make_shared<EffectsOptions>();
  add_question(*command, *options, true);
  command
      ->add_option(
          "--metric", options->metrics,
          "Which metrics, separated by ',' (default: speedup, energy_efficiency, energy_delay, area_mm2)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("METRICS");
  command->add_option("--parameter", options->parameter, "Show the mean for each value of this parameter")
      ->type_name("NAME");
  add_examples(*command,
               {{"lacuna sweep effects r.sqlite --per-network", "which parameters matter, and where"},
                {"lacuna sweep effects r.sqlite --parameter rows", "what each of its values gives"}});
  command->callback([options] { run_effects(*options); });
}

void add_diff(CLI::App& sweep) {
  CLI::App* command = sweep.add_subcommand("diff", "What differs between two designs");
  const auto options = std::make_shared<DiffOptions>();
  add_question(*command, *options, false);
  command->add_option("A", options->a, "A design: its number in the other tables")->required()->type_name("");
  command->add_option("B", options->b, "Another one")->required()->type_name("");
  add_examples(*command, {{"lacuna sweep diff r.sqlite 12 87", "their settings, and what they reach"}});
  command->callback([options] { run_diff(*options); });
}

}  // namespace

void add_sweep_answers(CLI::App& sweep) {
  add_best(sweep);
  add_pareto(sweep);
  add_effects(sweep);
  add_diff(sweep);
}

}  // namespace lacuna::cli
