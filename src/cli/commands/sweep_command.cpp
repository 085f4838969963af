// lacuna sweep: designs x traces into a file of results.
#include <filesystem>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/commands/sweep_answers.hpp"
#include "cli/commands/sweep_search.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/run/estimate.hpp"
#include "sweep/run/ranks.hpp"
#include "sweep/store/database.hpp"
#include "sweep/store/export.hpp"

namespace lacuna::cli {
namespace {

struct SweepOptions {
  std::string plan;
  std::string output;
  int threads = 0;
  bool dry_run = false;
  bool quiet = false;
};

struct SweepExport {
  std::string results;
  std::string csv;
  std::string json;
  std::string view = "points";
};

// "1,234"
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string points_text(std::uint64_t points) {
  return fmt::format("{} point{}", grouped(points), points == 1 ? "" : "s");
}

// What the plan asks for, and what becomes of it.
std::string plan_text(const sweep::Sweep& sweep, const sweep::DesignList& designs) {
  const std::uint64_t traces = sweep.plan.traces.size();
  std::string text = fmt::format("{} design{} x {} trace{} = {}\n", grouped(designs.entries.size()),
                                 designs.entries.size() == 1 ? "" : "s", grouped(traces),
                                 traces == 1 ? "" : "s", points_text(designs.entries.size() * traces));
  const std::uint64_t all = sweep.space.combinations();
  if (designs.allowed < all && !sweep.plan.at_most) {
    text += fmt::format("left out by conditions: {} of {} combinations\n", grouped(all - designs.allowed),
                        grouped(all));
  }
  if (designs.over_limits > 0)
    text += fmt::format("over the limits: {} designs\n", grouped(designs.over_limits));
  if (!designs.impossible.empty()) {
    text += fmt::format("parameters that do not go together: {} designs, the first because of {}\n",
                        grouped(designs.impossible.size()), designs.impossible.front().error);
  }
  return text;
}

std::string others_text(const std::vector<std::pair<std::string, std::int64_t>>& others) {
  std::string text;
  for (const auto& [program, points] : others) {
    text += fmt::format("of another version ({}): {}, kept apart\n", program,
                        points_text(static_cast<std::uint64_t>(points)));
  }
  return text;
}

void run_dry(const SweepOptions& options, const sweep::Plan& plan, int threads) {
  sweep::Sweep sweep(plan);
  const sweep::DesignList designs = sweep::list_designs(sweep.factory);
  std::unordered_map<std::string, sweep::Measures> stored;
  std::string others;
  std::error_code ignored;
  if (!options.output.empty() && std::filesystem::exists(options.output, ignored)) {
    const sweep::Reader results(options.output);
    stored = results.stored(sweep::this_program());
    others = others_text(results.other_programs(sweep::this_program()));
  }
  const sweep::WorkList work =
      sweep::make_chunks(designs, sweep.sha256, sweep.bytes, stored, plan.measures, threads);
  const sweep::Estimate estimate = sweep::estimate(sweep, work, threads);
  print("{}", plan_text(sweep, designs));
  print("already there: {}\n{}to compute: {}\n", points_text(work.stored), others, points_text(work.points));
  print("about {} on {} thread{}, {:.1f} GB of memory\n", duration_text(estimate.seconds), threads,
        threads == 1 ? "" : "s", estimate.bytes / 1e9);
}

void print_failures(const sweep::SweepOutcome& outcome, const std::string& file) {
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, outcome.failures.size()); ++i) {
    const sweep::FailureRecord& failure = outcome.failures[i];
    print("failed: {} {} on {}: {}\n", failure.machine, failure.parameters, failure.trace, failure.error);
  }
  if (outcome.progress.failed > 0) {
    print("all failures: sqlite3 {} 'SELECT * FROM failures'; the same command tries them again\n", file);
  }
}

// Rank 1, 2, ... of a sweep under MPI. What is wrong with the plan is rank 0's to say.
void help_rank_0(const SweepOptions& options, sweep::Ranks& ranks) {
  const StopOnSignal ignored;  // rank 0 decides when to stop
  try {
    const sweep::Plan plan = sweep::Plan::load(options.plan);
    sweep::Sweep sweep(plan);
    ranks.compute(sweep, resolve_threads(options.threads));
  } catch (const InputError& error) {
    // Not an exit code of its own: mpirun would end rank 0 before it has said what is wrong.
    ranks.excuse(error.what());
  }
}

class SweepRun {
 public:
  SweepRun(const SweepOptions& options, const sweep::Plan& plan, int threads)
      : options_(options), plan_(plan), threads_(threads), database_(options.output, sweep::this_program()) {}

  void run(sweep::Ranks* ranks) {
    std::vector<sweep::DesignRecord> listed;
    const auto store_designs = [&] {
      database_.add_designs(listed);
      listed.clear();
    };
    sweep::Sweep sweep(plan_);
    const sweep::DesignList designs =
        sweep::list_designs(sweep.factory, [&](const sweep::DesignRecord& design) {
          listed.push_back(design);
          if (listed.size() >= 1000) store_designs();
        });
    store_designs();
    database_.add_parameters(plan_.varied_parameters());
    database_.add({}, designs.impossible);
    const int workers = threads_ * (ranks != nullptr ? ranks->size() : 1);
    const sweep::WorkList work =
        sweep::make_chunks(designs, sweep.sha256, sweep.bytes, database_.stored(), plan_.measures, workers);
    if (!options_.quiet) print("{}{}", plan_text(sweep, designs), others_text(database_.other_programs()));
    const std::int64_t line =
        database_.begin_sweep(plan_.text, static_cast<std::int64_t>(work.points + work.stored));
    start_ = seconds_now();
    const sweep::SweepOutcome outcome = compute(sweep, work, ranks);
    database_.end_sweep(line, static_cast<std::int64_t>(outcome.progress.done), !outcome.stopped);
    if (!options_.quiet) print_outcome(outcome, work.stored);
    if (outcome.stopped && stop_signal() != 0) exit_with(128 + stop_signal());
    if (outcome.progress.failed > 0) exit_with(1);
  }

 private:
  sweep::SweepOutcome compute(sweep::Sweep& sweep, const sweep::WorkList& work, sweep::Ranks* ranks) {
    ProgressBar bar(ProgressBar::Drawn::kAlways);
    const sweep::RunOptions run{.threads = threads_,
                                .stop = [] { return stop_signal() != 0; },
                                .report = [&](const sweep::SweepProgress& progress) { show(bar, progress); }};
    return ranks != nullptr ? ranks->deal(sweep, work, database_, run)
                            : sweep::run_chunks(sweep, work, database_, run);
  }

  double per_second(std::uint64_t points) const {
    return static_cast<double>(points) / std::max(seconds_now() - start_, 1e-3);
  }

  void show(ProgressBar& bar, const sweep::SweepProgress& progress) const {
    const std::uint64_t ended = progress.done + progress.failed;
    if (options_.quiet || progress.all == 0) return;
    bar.update(static_cast<double>(ended) / static_cast<double>(progress.all),
               fmt::format("{} of {}, {:.0f} per second{}{}", grouped(ended), points_text(progress.all),
                           per_second(ended),
                           progress.failed > 0 ? fmt::format(", {} failed", grouped(progress.failed)) : "",
                           stop_signal() != 0 ? ", stopping" : ""));
  }

  void print_outcome(const sweep::SweepOutcome& outcome, std::uint64_t stored) const {
    const sweep::SweepProgress& progress = outcome.progress;
    print("computed {} in {} ({:.0f} per second), {} were there, {} failed: {}\n", points_text(progress.done),
          duration_text(seconds_now() - start_), per_second(progress.done), grouped(stored),
          grouped(progress.failed), options_.output);
    print_failures(outcome, options_.output);
    for (const std::string& note : outcome.notes) print("{}\n", note);
    if (outcome.stopped) {
      print("stopped: {} left; the same command goes on\n",
            points_text(progress.all - progress.done - progress.failed));
    }
  }

  const SweepOptions& options_;
  const sweep::Plan& plan_;
  int threads_;
  sweep::Database database_;
  double start_ = 0;
};

void run_sweep(const SweepOptions& options) {
  if (options.plan.empty()) {
    throw InputError("lacuna sweep", "the plan is missing", "give a YAML file; see 'lacuna sweep --help'");
  }
  const std::unique_ptr<sweep::Ranks> ranks = options.dry_run ? nullptr : sweep::Ranks::open();
  if (ranks && ranks->rank() > 0) return help_rank_0(options, *ranks);
  const sweep::Plan plan = sweep::Plan::load(options.plan);
  const int threads = resolve_threads(options.threads);
  if (options.dry_run && plan.strategy.name != "grid")
    return run_search(plan, {"", threads, false, true}, nullptr);
  if (options.dry_run) return run_dry(options, plan, threads);
  if (options.output.empty()) {
    throw InputError("lacuna sweep", "there is no file for the results",
                     "add -o RESULTS.sqlite, or --dry-run");
  }
  if (plan.strategy.name != "grid") {
    return run_search(plan, {options.output, threads, options.quiet, false}, ranks.get());
  }
  const StopOnSignal stop;
  SweepRun(options, plan, threads).run(ranks.get());
}

void run_export(const SweepExport& options) {
  if (options.csv.empty() && options.json.empty()) {
    throw InputError("lacuna sweep export", "nothing to write", "add --csv FILE or --json FILE");
  }
  check_result_files(options.json, options.csv, {options.results});
  const sweep::Reader results(options.results);
  if (!options.csv.empty()) write_result(options.csv, sweep::export_csv(results, options.view));
  if (!options.json.empty()) write_result(options.json, sweep::export_json(results, options.view));
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Thousands of designs on many traces, into a file of results that grows and is never computed twice");
  const auto options = std::make_shared<SweepOptions>();
  command->add_option("PLAN", options->plan, "What to vary: a YAML file (docs/sweep.md)")->type_name("");
  command->add_option("-o,--output", options->output, "File of results, made if it is not there: SQLite")
      ->check(not_empty())
      ->type_name("FILE");
  command
      ->add_option("--threads", options->threads, "Threads (default: all cores). Results do not depend on it")
      ->check(CLI::Range(0, 4096).description(""))
      ->type_name("N");
  command->add_flag("--dry-run", options->dry_run,
                    "Only say how many points there are, how long they will take, and how many are there");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing but errors");
  add_examples(*command, {{"lacuna sweep plan.yaml --dry-run", "how many points, how long, how much memory"},
                          {"lacuna sweep plan.yaml -o results.sqlite",
                           "compute what is not there yet; Ctrl-C stops, the same command goes on"},
                          {"lacuna sweep export results.sqlite --csv points.csv",
                           "one line per point, for other programs"}});

  CLI::App* export_command = command->add_subcommand("export", "A file of results as CSV or JSON");
  const auto exported = std::make_shared<SweepExport>();
  export_command->add_option("RESULTS", exported->results, "What 'lacuna sweep -o' wrote")
      ->type_name("")
      ->required();
  export_command
      ->add_option("--view", exported->view,
                   "What to write: points, by_network, pareto, operations or failures (default: points)")
      ->type_name("VIEW");
  add_result_options(*export_command, exported->json, exported->csv);
  add_examples(*export_command,
               {{"lacuna sweep export results.sqlite --csv points.csv", "one line per design and trace"},
                {"lacuna sweep export results.sqlite --view pareto --json -",
                 "the designs that no smaller one beats"}});
  export_command->callback([exported] { run_export(*exported); });

  add_sweep_answers(*command);

  command->callback([command, options] {
    if (command->get_subcommands().empty()) run_sweep(*options);
  });
}

}  // namespace lacuna::cli
