// Runs what is left of a plan on threads and stores it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sweep/run/compute.hpp"
#include "sweep/run/schedule.hpp"

namespace lacuna::sweep {

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
  // `uses`: how many chunks of each trace will come; empty: not known, every trace is kept.
  ChunkRunner(Sweep& sweep, std::vector<std::uint64_t> uses);

  struct Result {
    std::vector<TraceRecord> traces;  // that were read for it
    Computed computed;
  };
  Result run(const Chunk& chunk);

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const LoadedTrace> loaded;
    std::string error;
    std::uint64_t uses = 0;
  };
  std::shared_ptr<const LoadedTrace> load(std::uint32_t trace, Result& result, std::string& error);

  Sweep& sweep_;
  bool forgets_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

struct SweepProgress {
  std::uint64_t done = 0, failed = 0, all = 0;  // points
};

struct RunOptions {
  int threads = 1;
  std::function<bool()> stop;                        // asked between chunks
  std::function<void(const SweepProgress&)> report;  // from the calling thread, after each transaction
};

struct SweepOutcome {
  SweepProgress progress;
  bool stopped = false;
  std::vector<FailureRecord> failures;  // the first hundred
  std::vector<std::string> notes;       // what else a person should know
};

// Stores results as they come: traces and points of some chunks are one transaction.
class ResultWriter {
 public:
  ResultWriter(Database& database, std::uint64_t points) : database_(database) {
    outcome_.progress.all = points;
  }

  void write(std::vector<ChunkRunner::Result> results);
  SweepOutcome& outcome() { return outcome_; }

 private:
  Database& database_;
  SweepOutcome outcome_;
};

// Throws what the database throws (a full disk); what was stored before stays.
SweepOutcome run_chunks(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options);

// How often chunks of each trace come.
std::vector<std::uint64_t> uses_of(const std::vector<Chunk>& chunks, std::size_t traces);

}  // namespace lacuna::sweep
