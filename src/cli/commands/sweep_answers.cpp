// lacuna sweep best | pareto | effects | diff
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/answers/metric.hpp"
#include "sweep/answers/questions.hpp"

namespace lacuna::cli {
namespace {

template <typename Question>
struct QuestionOptions : Question {
  ResultFiles files;
};

// Prints tables, or JSON instead of them if it goes to standard output.
template <typename Question>
void run_question(const QuestionOptions<Question>& options) {
  const ResultFiles& files = options.files;
  files.check({options.results});
  Question question = options;
  question.page = !files.html.empty();
  const sweep::Answer answer = sweep::answer(question, output_style());
  if (!files.html.empty()) write_html(files.html, "sweep", {{"sweep", answer.page}});
  if (!files.json.empty()) write_result(files.json, answer.json);
  if (!files.quiet()) print_text(answer.text);
}

// Adds a command with the options that every question has. `rows`: it is about rows that can be chosen.
template <typename Question>
auto add_question(CLI::App& sweep, const std::string& name, const std::string& help, bool rows = true) {
  const auto added = add_command<QuestionOptions<Question>>(sweep, name, help, run_question<Question>);
  const auto& [command, question] = added;
  add(command, "RESULTS", question.results, "", "The file that 'lacuna sweep PLAN -o FILE' wrote")
      ->required();
  if (rows) {
    add(command, "--where", question.where, "CONDITION",
        "Only designs that meet a condition on parameters and metrics: 'area_mm2 < 40 and rows >= 4'");
    command.add_flag("--per-network", question.per_network,
                     "Each network by itself (default: the geometric mean of all)");
  }
  add(command, "--network", question.selection.networks, "NAMES", "Only these networks, separated by ','")
      ->delimiter(',')
      ->allow_extra_args(false);
  add(command, "--program", question.selection.program, "VERSION",
      "Results of this version, as the column 'program' has it (default: the latest)");
  add_output_option(command, "--json", question.files.json, "the answer as JSON");
  return added;
}

constexpr const char* kMetricHelp =
    "a column of the view 'by_network' or a formula of them, 'min:' or 'max:' in front says which way is "
    "better";

void add_best(CLI::App& sweep) {
  const auto [command, question] =
      add_question<sweep::BestQuestion>(sweep, "best", "The best designs of a file of results");
  add(command, "--metric", question.metric, "METRIC",
      fmt::format("What to judge by: {} (default: seconds)", kMetricHelp));
  add_number(command, "--top", question.top, 1, kMostSteps, "How many (default: 5; of each network 1)");
  add_examples(command,
               {{"lacuna sweep best r.sqlite --metric energy_delay --where 'area_mm2 < 40' --per-network",
                 "the best design of each network under a limit"},
                {"lacuna sweep best r.sqlite --metric 'max:speedup / area_mm2'", "a formula"}});
}

void add_pareto(CLI::App& sweep) {
  const auto [command, question] =
      add_question<sweep::ParetoQuestion>(sweep, "pareto",
                                          "The designs that no other beats in time, energy and area, or in "
                                          "metrics of your own, as a picture and a table");
  add(command, "--x", question.x, "METRIC", fmt::format("Across: {} (default: area_mm2)", kMetricHelp));
  add(command, "--y", question.y, "METRIC", "Up (default: seconds)");
  add(command, "--also", question.also, "METRICS",
      "More metrics in which a design on the front may be unbeaten, separated by ',' (default: energy_joules "
      "if neither --x nor --y is given; the page of --html has two)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_html_option(command, question.files.html);
  add_examples(command, {{"lacuna sweep pareto r.sqlite", "time, energy and area in the terminal"},
                         {"lacuna sweep pareto r.sqlite --x area_mm2 --y energy_delay", "two others"},
                         {"lacuna sweep pareto r.sqlite --html front.html", "a page with filters"}});
}

void add_effects(CLI::App& sweep) {
  const auto [command, question] = add_question<sweep::EffectsQuestion>(
      sweep, "effects", "How much each parameter moves each metric, the others averaged");
  add(command, "--metric", question.metrics, "METRICS",
      fmt::format("Which metrics, separated by ',' (default: {})", fmt::join(sweep::kUsualMetrics, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false);
  add(command, "--parameter", question.parameter, "NAME", "Show the mean for each value of this parameter");
  add_examples(command,
               {{"lacuna sweep effects r.sqlite --per-network", "which parameters matter, and where"},
                {"lacuna sweep effects r.sqlite --parameter rows", "what each of its values gives"}});
}

void add_diff(CLI::App& sweep) {
  const auto [command, question] =
      add_question<sweep::DiffQuestion>(sweep, "diff", "What differs between two designs", false);
  add(command, "A", question.a, "", "A design: its number in the other tables")->required();
  add(command, "B", question.b, "", "Another one")->required();
  add_examples(command, {{"lacuna sweep diff r.sqlite 12 87", "their settings, and what they reach"}});
}

}  // namespace

void add_sweep_answers(CLI::App& sweep) {
  add_best(sweep);
  add_pareto(sweep);
  add_effects(sweep);
  add_diff(sweep);
}

}  // namespace lacuna::cli
