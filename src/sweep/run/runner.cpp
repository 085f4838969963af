#include "sweep/run/runner.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/text/quote.hpp"
#include "sweep/run/chunk_pool.hpp"
#include "sweep/run/ranks.hpp"

namespace lacuna::sweep {
namespace {

// A transaction waits for the disk: not more of them than this, however fast the points come.
constexpr double kSecondsBetweenTransactions = 0.25;
constexpr auto kLongestWait = std::chrono::milliseconds(250);

std::uint64_t size_of(const PlanTrace& trace) {
  std::error_code error;
  const auto bytes = trace.path.empty() ? 0 : std::filesystem::file_size(trace.path, error);
  return error ? 0 : bytes;
}

}  // namespace

Sweep::Sweep(const Plan& of) : plan(of), space(of), factory(space) {
  for (const PlanTrace& trace : plan.traces) {
    sha256.push_back(trace_sha256(trace));
    bytes.push_back(size_of(trace));
  }
}

void SweepOutcome::add(SweepOutcome other) {
  progress.done += other.progress.done;
  progress.failed += other.progress.failed;
  progress.all += other.progress.all;
  stopped |= other.stopped;
  std::ranges::move(other.failures, std::back_inserter(failures));
  if (failures.size() > kFailuresKept) failures.resize(kFailuresKept);
  std::ranges::move(other.notes, std::back_inserter(notes));
}

ChunkRunner::ChunkRunner(Sweep& sweep, const std::vector<Chunk>& chunks)
    : sweep_(sweep), forgets_(!chunks.empty()) {
  for (std::size_t i = 0; i < sweep.plan.traces.size(); ++i) slots_.push_back(std::make_unique<Slot>());
  for (const Chunk& chunk : chunks) ++slots_[chunk.trace]->uses;
}

std::shared_ptr<const LoadedTrace> ChunkRunner::load(std::uint32_t trace, ChunkResult& result,
                                                     std::string& error) {
  Slot& slot = *slots_[trace];
  const std::scoped_lock lock(slot.mutex);
  if (!slot.loaded && slot.error.empty()) {
    try {
      slot.loaded = std::make_shared<const LoadedTrace>(sweep_.plan.traces[trace], sweep_.sha256[trace]);
    } catch (const std::exception& failure) {
      slot.error = escape_controls(failure.what());
    }
  }
  error = slot.error;
  std::shared_ptr<const LoadedTrace> loaded = slot.loaded;
  if (loaded) result.traces.push_back(loaded->record());
  if (forgets_ && --slot.uses == 0) slot.loaded.reset();
  return loaded;
}

ChunkResult ChunkRunner::run(const Chunk& chunk) {
  ChunkResult result;
  std::string error;
  const std::shared_ptr<const LoadedTrace> trace = load(chunk.trace, result, error);
  std::vector<Design> designs;
  for (const Choice& choice : chunk.designs) designs.push_back(sweep_.factory.make(choice));
  if (trace) {
    result.add(compute_points(*trace, sweep_.factory.simulation(), designs, sweep_.plan.measures));
    return result;
  }
  for (const Design& design : designs) {
    result.failures.push_back(
        failure_of(design, sweep_.sha256[chunk.trace], sweep_.plan.traces[chunk.trace].origin, error));
  }
  return result;
}

namespace {

// Stores results as one transaction.
void write(Database& database, std::vector<ChunkResult> results, SweepOutcome& outcome) {
  ChunkResult all;
  for (ChunkResult& result : results) all.add(std::move(result));
  database.add_traces(all.traces);
  database.add(all.points, all.failures);
  SweepOutcome stored;
  stored.progress.done = all.points.size();
  stored.progress.failed = all.failures.size();
  stored.failures = std::move(all.failures);
  outcome.add(std::move(stored));
}

}  // namespace

SweepOutcome run_chunks(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options) {
  SweepOutcome outcome;
  outcome.progress.all = work.points;
  Ranks* const ranks = options.ranks;
  // With other ranks it is not known which chunks of a trace come here.
  ChunkRunner runner(sweep, ranks != nullptr ? std::vector<Chunk>() : work.chunks);
  ChunkPool pool(runner, options.threads);
  auto next = work.chunks.begin();
  auto end = work.chunks.end();
  int at_home = 0;  // chunks that the pool has
  std::vector<ChunkResult> results;
  double written = seconds_now();
  for (bool ended = false; !ended;) {
    for (; next != end && at_home < options.threads + ChunkPool::kAhead; ++at_home) pool.put(*next++);
    while (ranks != nullptr && next != end && ranks->give(*next)) ++next;
    for (ChunkResult& result : pool.take(ranks != nullptr ? ChunkPool::kPoll : kLongestWait)) {
      results.push_back(std::move(result));
      --at_home;
    }
    if (ranks != nullptr) ranks->collect(sweep, results, outcome.notes);
    if (options.stop && options.stop()) {
      end = next;
      at_home -= pool.drop_waiting();
    }
    ended = next == end && at_home == 0 && (ranks == nullptr || ranks->working() == 0);
    if (!ended && seconds_now() - written < kSecondsBetweenTransactions) continue;
    if (!results.empty()) write(database, std::exchange(results, {}), outcome);
    written = seconds_now();
    if (options.report) options.report(outcome.progress);
  }
  outcome.stopped = outcome.progress.done + outcome.progress.failed < outcome.progress.all;
  return outcome;
}

}  // namespace lacuna::sweep
