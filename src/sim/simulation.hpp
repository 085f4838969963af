// Simulates traces on machines: the way in for the command line, the C interface, sweeps and figures.
//
//   Simulation simulation(choose_machines(choice, words));
//   simulation.price({}, "--energy-table");  // energy and area, too
//   SimulationOutcome outcome = simulation.run(trace, options, threads);
//
// src/report writes an outcome as JSON, CSV, text and page.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/accelerator.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/run_energy.hpp"
#include "sim/trace_work.hpp"

namespace lacuna {

// Called with the share of the work done so far, 0..1, also inside a long operation, from any thread but
// never from two at once.
using ProgressCallback = std::function<void(double)>;
// Asked very often, from any thread, whether to stop.
using StopCallback = std::function<bool()>;

// The table that prices machines: a name or a file, empty for the one that each machine names; at a node (0:
// the table's own).
struct CostChoice {
  std::string table;
  int node_nm = 0;
};

// Results of one or several traces.
struct SimulationOutcome {
  std::vector<RunResult> runs;           // trace by trace, machines in the order they were added
  std::vector<RunEnergy> energies = {};  // of each run, or none; without layers where a machine has no costs
  std::string unknown_areas = {};        // one line about each machine whose area no table prices

  void append(SimulationOutcome&& other);
};

// Machines with their baselines, each built once and run once per trace: machines that name the same baseline
// share its run, and so does a machine that is itself the baseline of another.
class Simulation {
 public:
  explicit Simulation(const AcceleratorRegistry& registry = AcceleratorRegistry::instance())
      : registry_(registry) {}
  explicit Simulation(const std::vector<Machine>& machines, const std::optional<Machine>& baseline = {});

  // Compares all machines that are added from now on with this one, whatever they name; `arch` is its name in
  // results.
  void fix_baseline(std::string arch, std::shared_ptr<const Accelerator> machine);
  // Adds a machine; `arch` is its name in results. The baseline is built here: throws InputError if its
  // parameters do not go together.
  void add(std::string arch, std::shared_ptr<const Accelerator> machine);
  // Looks up the costs of all machines added so far, before anything runs: a table that does not fit is
  // reported at once. Throws InputError; `origin` ("--energy-table") starts the message about a table that
  // cannot be read.
  void price(const CostChoice& choice, const std::string& origin);

  bool has_fixed_baseline() const { return fixed_baseline_.has_value(); }
  std::size_t size() const { return entries_.size(); }
  const std::string& arch(std::size_t i) const { return entries_[i].arch; }
  const Accelerator& machine(std::size_t i) const { return *machines_[entries_[i].own].machine; }
  // Machine that machine i is compared with; itself if it names no baseline.
  const Accelerator& baseline(std::size_t i) const { return *machines_[entries_[i].baseline].machine; }

  // Returns one run per machine, the same whatever the number of threads. Baselines run on the fast engine,
  // which gives the same numbers. Throws InputError for a trace that declares far more than it stores
  // (check_work()), and Stopped (base/work_progress.hpp) soon after `stop` says so.
  SimulationOutcome run(const Trace& trace, const SimOptions& options, int threads,
                        const ProgressCallback& progress = {}, const StopCallback& stop = {}) const;
  // The same on the threads of the enclosing with_threads(), this one alone without one. All machines take an
  // operation one after another and share what does not differ between them (OperationWork::remember), so it
  // pays to add machines with the same Accelerator::sharing_key().
  SimulationOutcome run(const TraceWork& work, const SimOptions& options = {},
                        const ProgressCallback& progress = {}, const StopCallback& stop = {}) const;

 private:
  struct RunMachine {
    std::shared_ptr<const Accelerator> machine;
    bool only_baseline;  // nobody asked for its own result
  };
  struct Entry {
    std::string arch;
    std::size_t own, baseline;  // indices of machines_
    std::optional<CostTable> costs;
    std::optional<RunArea> area;
  };

  struct FixedBaseline {
    std::string arch;
    std::shared_ptr<const Accelerator> machine;
  };

  static void check_same_memory(const std::string& arch, const Params& own, const FixedBaseline& fixed);
  std::size_t intern(std::shared_ptr<const Accelerator> machine, bool only_baseline);
  SimulationOutcome run_recorded(const TraceWork& work, const SimOptions& options,
                                 const ProgressCallback& progress, const StopCallback& stop) const;
  // The runs of entries_, from those of machines_.
  SimulationOutcome outcome(const std::vector<std::shared_ptr<RunResult>>& runs) const;

  const AcceleratorRegistry& registry_;
  std::vector<Entry> entries_;
  std::vector<RunMachine> machines_;
  std::unordered_map<std::string, std::size_t> by_parameters_;  // indices of machines_
  std::optional<FixedBaseline> fixed_baseline_;
  bool priced_ = false;
  std::string unknown_areas_;
};

// Runs one machine on one trace.
RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress = {},
                         const StopCallback& stop = {});

}  // namespace lacuna
