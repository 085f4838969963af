// lacuna sweep: designs x traces into a file of results.
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/job/sweep_job.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::cli {
namespace {

struct SweepOptions : sweep::SweepJob {
  bool dry_run = false;
  bool quiet = false;
};

struct SweepExport {
  std::string results;
  ResultFiles files;
  std::string view = "points";
};

void run_sweep(SweepOptions options) {
  if (options.plan.empty()) {
    throw InputError("lacuna sweep", "the plan is missing", "give a YAML file; see 'lacuna sweep --help'");
  }
  const std::unique_ptr<sweep::Ranks> ranks = options.dry_run ? nullptr : sweep::Ranks::open();
  options.ranks = ranks.get();
  if (!options.quiet) options.print = print_text;
  if (options.dry_run) return sweep::dry_run(options);
  const StopOnSignal stop;  // rank 0 decides for all
  if (ranks && ranks->rank() > 0) return sweep::help_rank_0(options);
  ProgressBar bar(ProgressBar::Drawn::kAlways);
  options.stop = [] { return stop_signal() != 0; };
  if (!options.quiet) {
    options.progress = [&](double share, const std::string& what) { bar.update(share, what); };
    options.print = [&](const std::string& text) {
      bar.clear();
      print_text(text);
    };
  }
  const sweep::JobOutcome outcome = sweep::run_job(options);
  if (outcome.stopped && stop_signal() != 0) exit_with(128 + stop_signal());
  if (outcome.failed) exit_with(1);
}

void run_export(const SweepExport& options) {
  const auto& [json, csv, html] = options.files;
  if (csv.empty() && json.empty()) {
    throw InputError("lacuna sweep export", "nothing to write", "add --csv FILE or --json FILE");
  }
  options.files.check({options.results});
  const sweep::Reader results(options.results);
  const auto write = [&](const std::string& file, const auto& rows) {
    if (file.empty()) return;
    if (file == kStandardOutput) {  // all or nothing, too
      std::string text;
      rows(results, options.view, [&](std::string_view piece) { text += piece; });
      return write_result(file, text);
    }
    OutputFile output(file);
    rows(results, options.view, [&](std::string_view text) { output.write(text); });
    output.commit();
  };
  write(csv, sweep::export_csv);
  write(json, sweep::export_json);
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Thousands of designs on many traces, into a file of results that grows and is never computed twice");
  const auto options = std::make_shared<SweepOptions>();
  add(*command, "PLAN", options->plan, "", "What to vary: a YAML file (docs/sweep.md)");
  add(*command, "-o,--output", options->output, "FILE", "File of results, made if it is not there: SQLite")
      ->check(not_empty());
  add_baseline_option(*command, options->baseline);
  add_threads_option(*command, options->threads, "Results do not depend on it");
  command->add_flag("--dry-run", options->dry_run,
                    "Only say how many points there are, how long they will take, and how many are there");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing but errors");
  add_examples(*command, {{"lacuna sweep plan.yaml --dry-run", "how many points, how long, how much memory"},
                          {"lacuna sweep plan.yaml -o results.sqlite",
                           "compute the missing points; after Ctrl-C the same command continues"},
                          {"lacuna sweep export results.sqlite --csv points.csv",
                           "one line per point, for other programs"}});

  const auto [export_command, exported] =
      add_command<SweepExport>(*command, "export", "A file of results as CSV or JSON", run_export);
  add(export_command, "RESULTS", exported.results, "", "What 'lacuna sweep -o' wrote")->required();
  add(export_command, "--view", exported.view, "VIEW",
      "What to write: points, by_network, pareto, operations or failures (default: points)");
  add_result_options(export_command, exported.files);
  add_examples(export_command,
               {{"lacuna sweep export results.sqlite --csv points.csv", "one line per design and trace"},
                {"lacuna sweep export results.sqlite --view pareto --json -",
                 "the designs that no smaller one beats"}});

  add_sweep_answers(*command);

  command->callback([command, options] {
    if (command->get_subcommands().empty()) run_sweep(*options);
  });
}

}  // namespace lacuna::cli
