// Runs every operation of every layer of a trace on machines and on the baselines they name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/accelerator.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/trace_work.hpp"

namespace lacuna {

// Called with the share of the work done so far, 0..1, also inside a long operation, from any thread but
// never from two at once.
using ProgressCallback = std::function<void(double)>;
// Asked very often, from any thread, whether to stop.
using StopCallback = std::function<bool()>;

// Machines with their baselines, each built once and run once per trace: machines that name the same baseline
// share its run, and so does a machine that is itself the baseline of another.
class Simulator {
 public:
  explicit Simulator(const AcceleratorRegistry& registry = AcceleratorRegistry::instance())
      : registry_(registry) {}

  // `arch` is the name shown in results. The baseline is built here: throws InputError if its parameters
  // do not go together.
  void add(std::string arch, std::shared_ptr<const Accelerator> machine);

  std::size_t size() const { return entries_.size(); }
  const std::string& arch(std::size_t i) const { return entries_[i].arch; }
  const Accelerator& machine(std::size_t i) const { return *runs_[entries_[i].own].machine; }
  // What machine i is compared with; itself if it names no baseline.
  const Accelerator& baseline(std::size_t i) const { return *runs_[entries_[i].baseline].machine; }

  // One result per machine, in the order they were added, whatever the number of threads. Baselines run on
  // the fast engine, which gives the same numbers. Throws InputError for a trace that declares far more than
  // it stores (check_work()), and Stopped (base/work_progress.hpp) soon after `stop` says so.
  std::vector<RunResult> run(const Trace& trace, const SimOptions& options, int threads,
                             const ProgressCallback& progress = {}, const StopCallback& stop = {}) const;
  // The same results by the fast engine, on this thread alone. All machines take an operation one after
  // another and share what does not differ between them (OperationWork::remember), so it pays to add machines
  // with the same Accelerator::sharing_key().
  std::vector<RunResult> run_sharing(const TraceWork& work) const;

 private:
  // A machine to run.
  struct Run {
    std::shared_ptr<const Accelerator> machine;
    bool only_baseline;
  };
  struct Entry {
    std::string arch;
    std::size_t own;  // indices of runs_
    std::size_t baseline;
  };
  using Results = std::vector<std::shared_ptr<RunResult>>;  // of runs_
  static constexpr std::size_t kNoBaseline = static_cast<std::size_t>(-1);
  // For each of runs_ what it is compared with; kNoBaseline if it only is the baseline of others.
  std::vector<std::size_t> baselines_of_runs() const;
  std::size_t intern(std::shared_ptr<const Accelerator> machine, bool only_baseline);
  // The results of entries_.
  std::vector<RunResult> named(const Results& results) const;

  const AcceleratorRegistry& registry_;
  std::vector<Entry> entries_;
  std::vector<Run> runs_;
  std::unordered_map<std::string, std::size_t> by_parameters_;  // indices of runs_
};

// One machine on one trace.
RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress = {},
                         const StopCallback& stop = {});

}  // namespace lacuna
