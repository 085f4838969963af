#include "sweep/run/runner.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::size_t kFailuresKept = 100;
// A transaction waits for the disk: not more of them than this, however fast the points come.
constexpr auto kBetweenTransactions = std::chrono::milliseconds(250);

// Results on their way from the threads that compute to the one that writes.
class Queue {
 public:
  void push(ChunkRunner::Result result) {
    const std::scoped_lock lock(mutex_);
    results_.push_back(std::move(result));
    changed_.notify_one();
  }
  void end_worker() {
    const std::scoped_lock lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }
  // What has come until then; waits at most as long as given, less once all workers have ended.
  std::vector<ChunkRunner::Result> take(std::size_t workers, std::chrono::milliseconds wait,
                                        bool& all_ended) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [&] { return ended_ == workers; });
    all_ended = ended_ == workers;
    std::vector<ChunkRunner::Result> taken(std::make_move_iterator(results_.begin()),
                                           std::make_move_iterator(results_.end()));
    results_.clear();
    return taken;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ChunkRunner::Result> results_;
  std::size_t ended_ = 0;
};

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

std::vector<std::uint64_t> uses_of(const std::vector<Chunk>& chunks, std::size_t traces) {
  std::vector<std::uint64_t> uses(traces, 0);
  for (const Chunk& chunk : chunks) ++uses[chunk.trace];
  return uses;
}

ChunkRunner::ChunkRunner(Sweep& sweep, std::vector<std::uint64_t> uses)
    : sweep_(sweep), forgets_(!uses.empty()) {
  for (std::size_t i = 0; i < sweep.plan.traces.size(); ++i) {
    slots_.push_back(std::make_unique<Slot>());
    if (forgets_) slots_.back()->uses = uses[i];
  }
}

std::shared_ptr<const LoadedTrace> ChunkRunner::load(std::uint32_t trace, Result& result,
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

ChunkRunner::Result ChunkRunner::run(const Chunk& chunk) {
  Result result;
  std::string error;
  const std::shared_ptr<const LoadedTrace> trace = load(chunk.trace, result, error);
  std::vector<Design> designs;
  for (const Choice& choice : chunk.designs) designs.push_back(sweep_.factory.make(choice));
  if (trace) {
    result.computed = compute_points(*trace, designs, sweep_.plan.measures);
    return result;
  }
  for (const Design& design : designs) {
    result.computed.failures.push_back({point_key(design.record.key, sweep_.sha256[chunk.trace]),
                                        design.record.machine, design.record.parameters,
                                        sweep_.plan.traces[chunk.trace].origin, error});
  }
  return result;
}

void ResultWriter::write(std::vector<ChunkRunner::Result> results) {
  std::vector<TraceRecord> traces;
  std::vector<PointRecord> points;
  std::vector<FailureRecord> failures;
  for (ChunkRunner::Result& result : results) {
    std::ranges::move(result.traces, std::back_inserter(traces));
    std::ranges::move(result.computed.points, std::back_inserter(points));
    std::ranges::move(result.computed.failures, std::back_inserter(failures));
  }
  database_.add_traces(traces);
  database_.add(points, failures);
  outcome_.progress.done += points.size();
  outcome_.progress.failed += failures.size();
  for (FailureRecord& failure : failures) {
    if (outcome_.failures.size() < kFailuresKept) outcome_.failures.push_back(std::move(failure));
  }
}

SweepOutcome run_chunks(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options) {
  ResultWriter writer(database, work.points);
  ChunkRunner runner(sweep, uses_of(work.chunks, sweep.plan.traces.size()));
  Queue queue;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto workers = static_cast<std::size_t>(std::max(1, options.threads));
  std::vector<std::jthread> threads;
  // Whatever happens below (a full disk), the threads end with their chunks.
  const struct Stop {
    std::atomic<bool>& flag;
    ~Stop() { flag = true; }
  } stop{stopped};
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&] {
      while (!stopped) {
        const std::size_t at = next.fetch_add(1);
        if (at >= work.chunks.size()) break;
        queue.push(runner.run(work.chunks[at]));
      }
      queue.end_worker();
    });
  }
  for (bool all_ended = false; !all_ended;) {
    std::vector<ChunkRunner::Result> results = queue.take(workers, kBetweenTransactions, all_ended);
    if (!results.empty()) writer.write(std::move(results));
    if (options.stop && options.stop()) stopped = true;
    if (options.report) options.report(writer.outcome().progress);
  }
  SweepOutcome outcome = std::move(writer.outcome());
  outcome.stopped = outcome.progress.done + outcome.progress.failed < outcome.progress.all;
  return outcome;
}

}  // namespace lacuna::sweep
