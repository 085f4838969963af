// Runs the points of a plan that are still missing, on threads and ranks, and stores them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/trace_work.hpp"
#include "sweep/plan/design.hpp"
#include "sweep/plan/plan.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

// --- from designs and a trace to points ---

// The hash that identifies a trace, before it is opened. Throws InputError if it cannot be read.
std::string trace_sha256(const PlanTrace& trace);

// A trace with its operations counted, for any number of designs and threads.
class LoadedTrace {
 public:
  // Throws InputError if the file is not the one that `sha256` was taken of.
  LoadedTrace(const PlanTrace& plan, const std::string& sha256);

  const TraceRecord& record() const { return record_; }
  const TraceWork& work() const { return *work_; }
  // Throws InputError if the file has been changed since it was opened, which may have changed what was read.
  void check_unchanged() const;

 private:
  std::string state_of_file() const;  // size, time and place of what lies under the path

  std::filesystem::path path_;
  std::string state_;
  TraceRecord record_;
  std::shared_ptr<const Trace> trace_;
  std::unique_ptr<const TraceWork> work_;
};

// `sha256` and `trace`: hash and name of the trace.
FailureRecord failure_of(const Design& design, const std::string& sha256, const std::string& trace,
                         std::string_view error);

// Rows for the file of results.
struct ChunkResult {
  std::vector<TraceRecord> traces;  // that were read for it
  std::vector<PointRecord> points;
  std::vector<FailureRecord> failures;

  void add(ChunkResult other);
};

// Computes all designs on the trace, on this thread, sharing what they can; `empty`:
// DesignFactory::simulation(). A failure is recorded and stops nothing else.
ChunkResult compute_points(const LoadedTrace& trace, const Simulation& empty, std::span<const Design> designs,
                           Measures measures);

// --- the missing points in chunks, which threads and processes take one after another ---

// Some designs on one trace, which share most of their work if possible.
struct Chunk {
  std::uint32_t trace = 0;  // index of the plan's traces
  std::vector<Choice> designs;
};

struct WorkList {
  std::vector<Chunk> chunks;
  std::uint64_t points = 0;  // in them
  std::uint64_t stored = 0;  // points that the file has already
};

// `bytes`: sizes of the traces, the largest come first. `workers`: threads of all processes.
WorkList make_chunks(const DesignList& designs, const std::vector<std::string>& trace_sha256,
                     const std::vector<std::uint64_t>& bytes,
                     const std::unordered_map<std::string, Measures>& stored, Measures measures, int workers);

// --- running them ---

class Ranks;

// A plan with its traces known: the same in every process of a sweep.
struct Sweep {
  // Reads every trace once for its SHA-256. The plan must outlive it.
  explicit Sweep(const Plan& plan);

  const Plan& plan;
  DesignSpace space;
  DesignFactory factory;
  std::vector<std::string> sha256;   // of the plan's traces
  std::vector<std::uint64_t> bytes;  // of their files
};

// Computes chunks, from any thread. A trace is read when it is first needed and forgotten after the last
// chunk that needs it.
class ChunkRunner {
 public:
  // `chunks`: all that will be run; empty: not known, every trace is kept.
  ChunkRunner(Sweep& sweep, const std::vector<Chunk>& chunks);

  ChunkResult run(const Chunk& chunk);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const LoadedTrace> loaded;
    std::string error;
    std::uint64_t uses = 0;  // chunks to come
  };
  std::shared_ptr<const LoadedTrace> load(std::uint32_t trace, ChunkResult& result, std::string& error);

  Sweep& sweep_;
  bool forgets_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

struct SweepProgress {
  std::uint64_t done = 0, failed = 0, all = 0;  // points
};

struct RunOptions {
  int threads = 1;
  Ranks* ranks = nullptr;                            // other processes that compute; null: none
  std::function<bool()> stop;                        // asked between chunks
  std::function<void(const SweepProgress&)> report;  // from the calling thread, after each transaction
};

struct SweepOutcome {
  static constexpr std::size_t kFailuresKept = 100;

  SweepProgress progress;
  bool stopped = false;
  std::vector<FailureRecord> failures;  // the first ones
  std::vector<std::string> notes;       // for the user

  void add(SweepOutcome other);
};

// Throws what the database throws (a full disk); what was stored before stays.
SweepOutcome run_chunks(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options);

struct Estimate {
  double seconds = 0;
  double bytes = 0;
};

// Opens the traces of the remaining work, for their shapes, and computes a few points to measure the speed of
// this machine (about a second).
Estimate estimate(Sweep& sweep, const WorkList& work, int threads);

}  // namespace lacuna::sweep
