#include "cli/commands/sweep_search.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "sweep/answers/point_results.hpp"
#include "sweep/guided/guided_sweep.hpp"

namespace lacuna::cli {
namespace {

std::string designs_text(std::uint64_t designs) {
  return counted(static_cast<std::int64_t>(designs), "design");
}

// "nsga2, seed 1: up to 640 of 10,240 combinations, 4 traces"
std::string search_text(const sweep::Sweep& sweep, const sweep::PlanSearch& search) {
  const std::uint64_t most = largest_number_of_points(search.options);
  return fmt::format("{}, seed {}: up to {} of {} combinations, {}; objectives: {}{}\n",
                     search.options.strategy, search.options.seed, designs_text(most),
                     grouped_digits(static_cast<std::int64_t>(
                         std::min<std::uint64_t>(sweep.space.combinations(), INT64_MAX))),
                     counted(std::ssize(sweep.plan.traces), "trace"), fmt::join(search.objectives, ", "),
                     search.subject_to.empty() ? "" : fmt::format("; subject to {}", search.subject_to));
}

void print_search_outcome(const sweep::GuidedOutcome& outcome, const sweep::PlanSearch& search,
                          const std::string& file) {
  const sweep::GuidedProgress& progress = outcome.progress;
  for (const sweep::FailureRecord& failure : outcome.failures) {
    print("failed: {} {} on {}: {}\n", failure.machine, failure.parameters, failure.trace, failure.error);
  }
  print("{} in {}: {} computed, {} were there, {} failed; {} on the front: {}\n",
        designs_text(progress.designs), counted(progress.generation, "generation"),
        counted(static_cast<std::int64_t>(progress.computed), "point"), progress.stored, progress.failed,
        progress.front, file);
  if (outcome.stopped) {
    print("stopped; the same command goes on\n");
  } else if (search.objectives.size() == 2) {
    print("see them: lacuna sweep pareto {} --x '{}' --y '{}'\n", file, search.objectives[1],
          search.objectives[0]);
  }
}

}  // namespace

void run_search(const sweep::Plan& plan, const SearchRunOptions& options, sweep::Ranks* ranks) {
  const sweep::PlanSearch search = sweep::read_search(plan, sweep::metrics_of_points());
  sweep::Sweep sweep(plan);
  if (options.dry_run) return print_text(search_text(sweep, search));
  sweep::Database database(options.output, sweep::this_program());
  database.add_parameters(plan.varied_parameters());
  if (!options.quiet) print_text(search_text(sweep, search));
  const std::uint64_t most = largest_number_of_points(search.options);
  const std::int64_t line =
      database.begin_sweep(plan.text, static_cast<std::int64_t>(most * plan.traces.size()));
  const StopOnSignal stop;
  ProgressBar bar(ProgressBar::Drawn::kAlways);
  std::string generation = "generation 1";
  std::uint64_t before = 0;
  const auto show = [&](std::uint64_t points) {
    if (options.quiet) return;
    const double all = static_cast<double>(most * plan.traces.size());
    bar.update(std::min(1.0, static_cast<double>(points) / all),
               fmt::format("{}{}", generation, stop_signal() != 0 ? ", stopping" : ""));
  };
  sweep::GuidedOptions guided;
  guided.run.threads = guided.workers = options.threads;
  if (ranks != nullptr) {
    guided.workers *= ranks->size();
    guided.compute = [&](sweep::Sweep& of, const sweep::WorkList& work, sweep::Database& into,
                         const sweep::RunOptions& run) { return ranks->deal(of, work, into, run); };
  }
  guided.run.stop = [] { return stop_signal() != 0; };
  guided.run.report = [&](const sweep::SweepProgress& progress) {
    show(before + progress.done + progress.failed);
  };
  guided.generation = [&](const sweep::GuidedProgress& progress) {
    before = progress.computed + progress.stored + progress.failed;
    generation = fmt::format("generation {}, {}, {} on the front", progress.generation + 1,
                             designs_text(progress.designs), progress.front);
    show(before);
  };
  const sweep::GuidedOutcome outcome = run_guided(sweep, search, database, guided);
  database.end_sweep(line, static_cast<std::int64_t>(outcome.progress.computed), !outcome.stopped);
  if (!options.quiet) print_search_outcome(outcome, search, options.output);
  if (outcome.stopped && stop_signal() != 0) exit_with(128 + stop_signal());
  if (outcome.progress.failed > 0) exit_with(1);
}

}  // namespace lacuna::cli
