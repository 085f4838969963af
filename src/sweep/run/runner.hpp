// Runs the points of a plan that are still missing, on threads and ranks, and stores them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sweep/run/compute.hpp"
#include "sweep/run/schedule.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

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
