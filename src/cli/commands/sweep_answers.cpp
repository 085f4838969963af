// lacuna sweep best | pareto | effects | diff
#include "cli/commands/sweep_answers.hpp"

#include <fmt/format.h>
#include <memory>

#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/answers/questions.hpp"

namespace lacuna::cli {
namespace {

template <typename Question>
struct QuestionOptions : Question {
  std::string json, html;

  // Prints tables, or JSON instead of them if it goes to standard output.
  void run() const {
    check_html(html, {this->results}, {json});
    if (!json.empty()) check_result_files(json, "", {this->results});
    const sweep::Answer answer = sweep::answer(*this, output_style());
    if (!html.empty()) write_html(html, "sweep", {{"sweep", answer.page}});
    if (!json.empty()) write_result(json, answer.json);
    if (json != kStandardOutput) print_text(answer.text);
  }
};

// Adds a command with the options that every question has. `rows`: it is about rows that can be chosen.
template <typename Question>
std::pair<CLI::App*, std::shared_ptr<QuestionOptions<Question>>> add_question(CLI::App& sweep,
                                                                              const std::string& name,
                                                                              const std::string& help,
                                                                              bool rows = true) {
  CLI::App* command = sweep.add_subcommand(name, help);
  const auto question = std::make_shared<QuestionOptions<Question>>();
  command->add_option("RESULTS", question->results, "The file that 'lacuna sweep PLAN -o FILE' wrote")
      ->required()
      ->type_name("");
  if (rows) {
    command
        ->add_option(
            "--where", question->where,
            "Only designs that meet a condition on parameters and metrics: 'area_mm2 < 40 and rows >= 4'")
        ->type_name("CONDITION");
    command->add_flag("--per-network", question->per_network,
                      "Each network by itself (default: the geometric mean of all)");
  }
  command->add_option("--network", question->selection.networks, "Only these networks, separated by ','")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      ->add_option("--program", question->selection.program,
                   "Results of this version, as the column 'program' has it (default: the latest)")
      ->type_name("VERSION");
  command
      ->add_option("--json", question->json,
                   "Write the answer as JSON; '-': to standard output, and no tables")
      ->check(not_empty())
      ->type_name("FILE|-");
  command->callback([question] { question->run(); });
  return {command, question};
}

constexpr const char* kMetricHelp =
    "a column of the view 'by_network' or a formula of them, 'min:' or 'max:' in front says which way is "
    "better";

void add_best(CLI::App& sweep) {
  const auto [command, question] =
      add_question<sweep::BestQuestion>(sweep, "best", "The best designs of a file of results");
  command
      ->add_option("--metric", question->metric,
                   fmt::format("What to judge by: {} (default: speedup)", kMetricHelp))
      ->type_name("METRIC");
  command->add_option("--top", question->top, "How many (default: 5; of each network 1)")
      ->check(whole_number(1))
      ->type_name("N");
  add_examples(*command,
               {{"lacuna sweep best r.sqlite --metric energy_delay --where 'area_mm2 < 40' --per-network",
                 "the best design of each network under a limit"},
                {"lacuna sweep best r.sqlite --metric 'max:speedup / area_mm2'", "a formula"}});
}

void add_pareto(CLI::App& sweep) {
  const auto [command, options] = add_question<sweep::ParetoQuestion>(
      sweep, "pareto", "The designs that no other beats in two metrics, as a picture and a table");
  const auto question = options;
  command->add_option("--x", question->x, fmt::format("Across: {} (default: area_mm2)", kMetricHelp))
      ->type_name("METRIC");
  command->add_option("--y", question->y, "Up (default: speedup)")->type_name("METRIC");
  add_html_option(*command, question->html);
  add_examples(*command, {{"lacuna sweep pareto r.sqlite --x area_mm2 --y speedup", "in the terminal"},
                          {"lacuna sweep pareto r.sqlite --html front.html", "a page with filters"}});
  command->callback([question] {
    question->page = !question->html.empty();
    question->run();
  });
}

void add_effects(CLI::App& sweep) {
  const auto [command, question] = add_question<sweep::EffectsQuestion>(
      sweep, "effects", "How much each parameter moves each metric, the others averaged");
  command
      ->add_option(
          "--metric", question->metrics,
          "Which metrics, separated by ',' (default: speedup, energy_efficiency, energy_delay, area_mm2)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("METRICS");
  command->add_option("--parameter", question->parameter, "Show the mean for each value of this parameter")
      ->type_name("NAME");
  add_examples(*command,
               {{"lacuna sweep effects r.sqlite --per-network", "which parameters matter, and where"},
                {"lacuna sweep effects r.sqlite --parameter rows", "what each of its values gives"}});
}

void add_diff(CLI::App& sweep) {
  const auto [command, question] =
      add_question<sweep::DiffQuestion>(sweep, "diff", "What differs between two designs", false);
  command->add_option("A", question->a, "A design: its number in the other tables")
      ->required()
      ->type_name("");
  command->add_option("B", question->b, "Another one")->required()->type_name("");
  add_examples(*command, {{"lacuna sweep diff r.sqlite 12 87", "their settings, and what they reach"}});
}

}  // namespace

void add_sweep_answers(CLI::App& sweep) {
  add_best(sweep);
  add_pareto(sweep);
  add_effects(sweep);
  add_diff(sweep);
}

}  // namespace lacuna::cli
