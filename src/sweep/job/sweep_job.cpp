#include "sweep/job/sweep_job.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text/text_table.hpp"
#include "base/work_progress.hpp"
#include "sweep/job/guided_sweep.hpp"
#include "sweep/run/runner.hpp"

namespace lacuna::sweep {
namespace {

constexpr const char* kGrid = "grid";

std::int64_t clamped(std::uint64_t count) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(count, kMost));
}
std::string digits(std::uint64_t count) { return grouped_digits(clamped(count)); }
std::string count_text(std::uint64_t count, std::string_view noun) { return counted(clamped(count), noun); }

// Points that the plan asks for, and designs that it leaves out.
std::string plan_text(const Sweep& sweep, const DesignList& designs) {
  const std::uint64_t traces = sweep.plan.traces.size();
  std::string text =
      fmt::format("{} x {} = {}\n", count_text(designs.entries.size(), "design"), count_text(traces, "trace"),
                  count_text(designs.entries.size() * traces, "point"));
  const std::uint64_t all = sweep.space.combinations();
  if (designs.allowed < all && !sweep.plan.at_most) {
    text += fmt::format("left out by conditions: {} of {} combinations\n", digits(all - designs.allowed),
                        digits(all));
  }
  if (designs.over_limits > 0) {
    text += fmt::format("over the limits: {} designs\n", digits(designs.over_limits));
  }
  if (!designs.impossible.empty()) {
    text += fmt::format("parameters that do not go together: {} designs, the first because of {}\n",
                        digits(designs.impossible.size()), designs.impossible.front().error);
  }
  return text;
}

// Points in the file that another version computed.
std::string others_text(const Reader& results) {
  std::string text;
  for (const auto& [program, points] : results.other_programs(this_program())) {
    text += fmt::format("of another version ({}): {}, kept apart\n", program, counted(points, "point"));
  }
  return text;
}

// "nsga2, seed 1: up to 640 designs of 10,240 combinations, 4 traces"
std::string search_text(const Sweep& sweep, const PlanSearch& search) {
  return fmt::format("{}, seed {}: up to {} of {} combinations, {}; objectives: {}{}\n",
                     search.options.strategy, search.options.seed,
                     count_text(largest_number_of_points(search.options), "design"),
                     digits(sweep.space.combinations()), count_text(sweep.plan.traces.size(), "trace"),
                     fmt::join(search.objectives, ", "),
                     search.subject_to.empty() ? "" : fmt::format("; subject to {}", search.subject_to));
}

class JobRun {
 public:
  JobRun(const SweepJob& job, const Plan& plan)
      : job_(job),
        threads_(resolve_threads(job.threads)),
        database_(job.output, this_program(), job.stop),
        sweep_(plan) {
    database_.add_parameters(plan.varied_parameters());
    options_ = {.threads = threads_, .ranks = job.ranks, .stop = job.stop, .report = {}};
  }

  // Every design of the plan.
  JobOutcome grid() {
    std::vector<DesignRecord> listed;
    const auto store = [&] {
      database_.add_designs(listed);
      listed.clear();
    };
    const DesignList designs = list_designs(sweep_.factory, [&](const DesignRecord& design) {
      listed.push_back(design);
      if (listed.size() >= 1000) store();
    });
    store();
    database_.add({}, designs.impossible);
    const WorkList work = make_chunks(designs, sweep_.sha256, sweep_.bytes, database_.stored(),
                                      sweep_.plan.measures, workers());
    print(plan_text(sweep_, designs) + others_text(database_));
    const std::int64_t line = begin(work.points + work.stored);
    options_.report = [&](const SweepProgress& progress) { show_points(progress); };
    const SweepOutcome outcome = run_chunks(sweep_, work, database_, options_);
    const SweepProgress& progress = outcome.progress;
    print(fmt::format("computed {} in {} ({:.0f} per second), {} were there, {} failed: {}\n",
                      count_text(progress.done, "point"), duration_text(seconds_now() - start_),
                      per_second(progress.done), digits(work.stored), digits(progress.failed), job_.output));
    return end(line, outcome);
  }

  // The designs that a search chooses.
  JobOutcome search(const PlanSearch& search) {
    print(search_text(sweep_, search));
    const std::uint64_t most = largest_number_of_points(search.options) * sweep_.plan.traces.size();
    const std::int64_t line = begin(most);
    std::string what = "generation 1";
    std::uint64_t before = 0;
    const auto show = [&](std::uint64_t points) {
      report(static_cast<double>(points) / static_cast<double>(most), what);
    };
    options_.report = [&](const SweepProgress& progress) { show(before + progress.done + progress.failed); };
    const auto generation = [&](const GuidedProgress& progress) {
      const SweepProgress& computed = progress.computed.progress;
      before = computed.done + computed.failed + progress.stored;
      what = fmt::format("generation {}, {}, {} on the front", progress.generation + 1,
                         count_text(progress.designs, "design"), progress.front);
      show(before);
    };
    const GuidedProgress found = run_guided(sweep_, search, database_, {options_, workers(), generation});
    const SweepOutcome& outcome = found.computed;
    print(fmt::format("{} in {}: {} computed, {} were there, {} failed; {} on the front: {}\n",
                      count_text(found.designs, "design"), counted(found.generation, "generation"),
                      count_text(outcome.progress.done, "point"), found.stored, outcome.progress.failed,
                      found.front, job_.output));
    if (!outcome.stopped && search.objectives.size() == 2) {
      print(fmt::format("see them: lacuna sweep pareto {} --x '{}' --y '{}'\n", job_.output,
                        search.objectives[1], search.objectives[0]));
    }
    return end(line, outcome);
  }

 private:
  void print(const std::string& text) const {
    if (job_.print) job_.print(text);
  }
  int workers() const { return threads_ * (job_.ranks != nullptr ? job_.ranks->size() : 1); }
  std::int64_t begin(std::uint64_t points) {
    start_ = seconds_now();
    return database_.begin_sweep(sweep_.plan.text, static_cast<std::int64_t>(points));
  }
  // Prints failures and what is left.
  JobOutcome end(std::int64_t line, const SweepOutcome& outcome) {
    constexpr std::size_t kShown = 5;
    const SweepProgress& progress = outcome.progress;
    database_.end_sweep(line, static_cast<std::int64_t>(progress.done), !outcome.stopped);
    for (std::size_t i = 0; i < std::min(kShown, outcome.failures.size()); ++i) {
      const FailureRecord& failure = outcome.failures[i];
      print(fmt::format("failed: {} {} on {}: {}\n", failure.machine, failure.parameters, failure.trace,
                        failure.error));
    }
    if (progress.failed > 0) {
      print(fmt::format(
          "all failures: sqlite3 {} 'SELECT * FROM failures'; the same command tries them again\n",
          job_.output));
    }
    for (const std::string& note : outcome.notes) print(note + "\n");
    if (outcome.stopped) {
      print(fmt::format("stopped: {} left; run the same command again to continue\n",
                        count_text(progress.all - progress.done - progress.failed, "point")));
    }
    return {outcome.stopped, progress.failed > 0};
  }
  double per_second(std::uint64_t points) const {
    return static_cast<double>(points) / std::max(seconds_now() - start_, 1e-3);
  }
  void report(double share, const std::string& what) const {
    if (!job_.progress) return;
    job_.progress(std::min(1.0, share), what + (job_.stop && job_.stop() ? ", stopping" : ""));
  }
  void show_points(const SweepProgress& progress) const {
    const std::uint64_t ended = progress.done + progress.failed;
    if (progress.all == 0) return;
    report(static_cast<double>(ended) / static_cast<double>(progress.all),
           fmt::format("{} of {}, {:.0f} per second{}", digits(ended), count_text(progress.all, "point"),
                       per_second(ended),
                       progress.failed > 0 ? fmt::format(", {} failed", digits(progress.failed)) : ""));
  }

  const SweepJob& job_;
  int threads_;
  Database database_;
  Sweep sweep_;
  RunOptions options_;
  double start_ = 0;
};

Plan load_plan(const SweepJob& job) {
  Plan plan = Plan::load(job.plan);
  if (!job.baseline.empty()) plan.baseline = ArchCatalog().find_or_load(job.baseline, "--baseline");
  return plan;
}

}  // namespace

void dry_run(const SweepJob& job) {
  const Plan plan = load_plan(job);
  Sweep sweep(plan);
  if (plan.strategy.name != kGrid) return job.print(search_text(sweep, read_search(plan)));
  const int threads = resolve_threads(job.threads);
  const DesignList designs = list_designs(sweep.factory);
  std::unordered_map<std::string, Measures> stored;
  std::string others;
  std::error_code ignored;
  if (!job.output.empty() && std::filesystem::exists(job.output, ignored)) {
    const Reader results(job.output);
    stored = results.stored(this_program());
    others = others_text(results);
  }
  const WorkList work = make_chunks(designs, sweep.sha256, sweep.bytes, stored, plan.measures, threads);
  const Estimate needed = estimate(sweep, work, threads);
  job.print(plan_text(sweep, designs));
  job.print(fmt::format("already there: {}\n{}to compute: {}\n", count_text(work.stored, "point"), others,
                        count_text(work.points, "point")));
  job.print(fmt::format("about {} on {}, {:.1f} GB of memory\n", duration_text(needed.seconds),
                        counted(threads, "thread"), needed.bytes / 1e9));
}

JobOutcome run_job(const SweepJob& job) {
  const Plan plan = load_plan(job);
  if (job.output.empty()) {
    throw InputError("lacuna sweep", "there is no file for the results",
                     "add -o RESULTS.sqlite, or --dry-run");
  }
  try {
    if (plan.strategy.name == kGrid) return JobRun(job, plan).grid();
    const PlanSearch search = read_search(plan);
    return JobRun(job, plan).search(search);
  } catch (const Stopped&) {  // in a query, or while another program had the file
    return {.stopped = true};
  }
}

void help_rank_0(const SweepJob& job) {
  try {
    const Plan plan = load_plan(job);
    Sweep sweep(plan);
    job.ranks->compute(sweep, resolve_threads(job.threads));
  } catch (const InputError& error) {
    // With its own exit code mpirun would end rank 0 before it has reported the error.
    job.ranks->excuse(error.what());
  }
}

}  // namespace lacuna::sweep
