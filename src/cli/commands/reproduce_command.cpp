// lacuna reproduce: the papers' figures and tables next to ours.

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "reproduce/output/reproduce_output.hpp"

namespace lacuna::cli {
namespace {

struct ReproduceOptions {
  std::vector<std::string> ids;
  bool list = false;
  bool timed = false;
  bool quick = false;
  bool record = false;
  bool against_paper = false;
  std::string data;
  std::string json;
  std::string markdown;
  std::string html;
  int threads = 0;
};

void check_reproduce_files(const ReproduceOptions& options) {
  check_can_write(options.json, "--json");
  check_can_write(options.markdown, "--markdown");
  check_html(options.html, {}, {options.json, options.markdown});
  if (options.json.empty() || options.json != options.markdown) return;
  throw InputError("--markdown", "--json goes to the same place", "give each its own file");
}

void check_reasons(const reproduce::Reproduction& result) {
  const std::vector<std::string> keys = unexplained(result);
  if (keys.empty()) return;
  throw InputError("--record", keys.front() + " is far from the paper's number without a measured reason",
                   "give it one in its figure");
}

void run_reproduce(const ReproduceOptions& options) {
  using namespace reproduce;
  if (options.list) return print_text(figure_list(output_style()));
  if (options.quick && !options.timed)
    throw InputError("reproduce --quick", "it is for what is timed; nothing else depends on it",
                     "add --timed, or leave it out");
  const std::vector<const Figure*> figures = choose_figures(options.ids, options.timed);
  check_reproduce_files(options);
  const DataFolder data = DataFolder::find(options.data);
  const std::filesystem::path recorded_file = data.papers() / "recorded.yaml";
  if (options.record) check_can_write(recorded_file.string(), "--record");
  const RecordedValues recorded = RecordedValues::open(recorded_file, options.record);
  Reproduction result;
  std::optional<StopOnSignal> stopping;  // times take minutes: those that are there are kept
  if (options.timed) stopping.emplace();
  {
    ProgressBar bar;
    result = reproduce_figures(figures, data, resolve_threads(options.threads),
                               [&](double share, const std::string& what) { bar.update(share, what); },
                               {options.quick, [] { return stop_signal() != 0; }});
  }
  if (options.record) check_reasons(result);
  const RecordedValues now = recordable(result);
  result.moved = recorded.compare(now);
  const std::string json = reproduction_json(result);
  if (!options.html.empty()) write_html(options.html, "reproduce", {{"reproduce", json}});
  if (!options.json.empty()) write_result(options.json, json);
  if (!options.markdown.empty()) write_result(options.markdown, reproduction_markdown(result));
  const bool quiet = options.json == kStandardOutput || options.markdown == kStandardOutput;
  if (!quiet) print_text(reproduction_text(result, output_style()) + "\n" + grade_text(result));
  if (stop_signal() != 0) exit_with(128 + stop_signal());
  if (options.record) {
    release_input_file(recorded_file);
    write_result(recorded_file.string(), recorded.replaced_by(now).text());
    if (!quiet)
      print("\n{} recorded in {}\n", counted(static_cast<std::int64_t>(now.values().size()), "number"),
            recorded_file.string());
    return;
  }
  if (result.moved.empty()) {
    if (!options.against_paper) return;
    const Grade grade = grade_of(result);
    if (!quiet) print_text("\n" + grade.exit_text() + "\n");
    if (grade.exit_code() != 0) exit_with(grade.exit_code());
    return;
  }
  if (!quiet) {
    print("\n{}{} moved from what {} records; if that is meant, run again with --record\n",
          moved_text(result), counted(static_cast<std::int64_t>(result.moved.size()), "number"),
          recorded_file.string());
  }
  exit_with(1);
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  const auto [command, options] = add_command<ReproduceOptions>(
      app, "reproduce",
      "The papers' figures and tables next to ours; exits with 1 if a number of ours has moved",
      run_reproduce);
  add(command, "ID", options.ids, "",
      "Figures: fig13, table3, ant, ... ('--list'); all that is simulated if not given");
  command.add_flag("--list", options.list, "List the figures");
  command.add_flag("--timed", options.timed,
                   "Also what is timed on this machine (SparseTrain), which takes minutes");
  command.add_flag("--quick", options.quick,
                   "With --timed: one network on small images, to see that it works; not for comparing");
  add(command, "--data", options.data, "DIR",
      "The folder data/ of a clone (default: $LACUNA_DATA, then the clone this program was built from)")
      ->check(not_empty());
  add_output_option(command, "--json", options.json, "everything as JSON");
  add_output_option(command, "--markdown", options.markdown, "everything as Markdown");
  add_html_option(command, options.html);
  command.add_flag("--record", options.record,
                   "Accept the numbers: write them to papers/recorded.yaml of the data folder");
  command.add_flag(
      "--against-paper", options.against_paper,
      "Exit with 3 if a number is more than 5 % from the paper's, with 4 if one is more than 20 % away "
      "or a statement of the paper does not hold");
  add_threads_option(command, options.threads, "Results do not depend on it");
  add_examples(command, {{"lacuna reproduce", "everything that is simulated, in two minutes"},
                         {"lacuna reproduce fig13 table3", "two of them"},
                         {"lacuna reproduce --html figures.html", "the same in pictures"},
                         {"lacuna reproduce sparsetrain --timed", "on this machine's CPU"},
                         {"lacuna reproduce --json - | jq '.figures[].id'", "for programs"}});
}

}  // namespace lacuna::cli
