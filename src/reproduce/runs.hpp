// Simulates each trace on each machine that figures ask for, once, and keeps the sums that they need. A
// figure is made twice: the runs that it asks for the first time are simulated before the second.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reproduce/data_folder.hpp"
#include "reproduce/figure.hpp"
#include "sim/run_energy.hpp"
#include "sim/workload/potential.hpp"

namespace lacuna::reproduce {

// Sums over the layers of a trace on a machine.
struct Run {
  Totals batch;              // each layer scaled to the batch trained with
  double least_speedup = 0;  // of any operation of any layer
  EnergyComparison energy;   // of the batch; zeros if the machine has no costs
  // Counters of the machine, scaled to the batch: by operation, then of all.
  std::map<std::string, std::array<double, 4>> counters;

  double counter(const std::string& name) const;
  double counter(const std::string& name, Operation op) const;
};

class Runs {
 public:
  // Called with the share of the work done and the trace at hand.
  using Report = std::function<void(double, const std::string&)>;
  explicit Runs(const DataFolder& data) : data_(data) {}

  // Returns a run. Before simulate(): notes that it is wanted, and returns an empty one.
  const Run& run(const RunKey& key) const;
  const Run& run(const std::string& trace, const std::string& arch, const Settings& settings = {}) const {
    return run(RunKey{trace, arch, settings});
  }
  const TracePotential& potential(const std::string& trace) const;
  // The same trace with one and with the other half of its samples; none if it has one sample only.
  std::vector<std::string> halves(const std::string& trace) const;

  // Returns what was wanted since the last call.
  std::vector<RunKey> take_wanted() { return std::exchange(wanted_, {}); }
  // Throws InputError for a trace that cannot be read.
  void simulate(const std::vector<RunKey>& keys, int threads, const Report& report);

 private:
  // Every machine of `keys` on the trace, those that name the same baseline together.
  void run_trace(const Trace& trace, const std::string& name, const std::vector<RunKey>& keys, int threads,
                 const Progress& progress);

  const DataFolder& data_;
  bool simulated_ = false;
  mutable std::vector<RunKey> wanted_;
  std::map<std::string, Run> runs_;
  std::map<std::string, TracePotential> potentials_;
};

}  // namespace lacuna::reproduce
