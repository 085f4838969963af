#include "reproduce/runs.hpp"

#include <algorithm>
#include <stdexcept>

#include "reproduce/trace_sources.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/simulation.hpp"

namespace lacuna::reproduce {
namespace {

Run summarize(const RunResult& result) {
  Run run{result.per_batch(), 0, {}, {}};
  for (std::size_t l = 0; l < result.layers.size(); ++l) {
    const LayerResult& layer = result.layers[l];
    for (std::size_t o = 0; o < layer.ops.size(); ++o) {
      const double speedup = result.cycles_of(l, o).speedup();
      if (speedup > 0 && (run.least_speedup == 0 || speedup < run.least_speedup)) run.least_speedup = speedup;
      for (const Counter& counter : layer.ops[o].counters) {
        auto& sums = run.counters[counter.name];
        const double value = layer.batch_scale * static_cast<double>(counter.value);
        sums[static_cast<std::size_t>(layer.ops[o].op)] += value;
        sums[3] += value;
      }
    }
  }
  if (has_energy(result)) run.energy = run_energy(result, energy_table("", 0, *result.hardware)).all;
  return run;
}

std::unique_ptr<Accelerator> build(const RunKey& key) {
  Machine machine = ArchCatalog().find(key.arch, "reproduce");
  for (const auto& [name, value] : key.settings) machine.params.set(name, value, "reproduce");
  return machine.build();
}

// Estimated relative time of a machine on one trace.
double machine_weight(const std::string& arch) {
  if (arch == "tensordash-two-side") return 60;
  if (arch == "ant") return 8;
  return arch == "scnn" || arch == "tensordash-crossbar" ? 3 : 1;
}

}  // namespace

double Run::counter(const std::string& name) const {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second[3];
}

double Run::counter(const std::string& name, Operation op) const {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second[static_cast<std::size_t>(op)];
}

void Runs::simulate(const std::vector<RunKey>& keys, int threads, const Report& report) {
  simulated_ = true;
  // One trace in memory at a time, in the order of first use.
  std::vector<std::string> traces;
  std::map<std::string, std::vector<RunKey>> by_trace;
  std::map<std::string, double> weights;
  double whole = 0;
  for (const RunKey& key : keys) {
    std::vector<RunKey>& wanted = by_trace[key.trace];
    if (wanted.empty()) traces.push_back(key.trace);
    const auto same = std::ranges::find(wanted, key.text(), &RunKey::text);
    if (same != wanted.end()) {
      same->from_zeros |= key.from_zeros;
      continue;
    }
    wanted.push_back(key);
    const double weight = trace_weight(key.trace, data_) * machine_weight(key.arch);
    weights[key.trace] += weight;
    whole += weight;
  }
  double done = 0;
  for (const std::string& name : traces) {
    const double part = weights[name] / whole;
    report(done, name);
    run_trace(open_source(name, data_), name, by_trace[name], threads,
              [&](double share) { report(done + share * part, name); });
    done += part;
  }
}

void Runs::run_trace(const Trace& trace, const std::string& name, const std::vector<RunKey>& keys,
                     int threads, const Progress& progress) {
  Simulation plain, from_zeros;
  for (const RunKey& key : keys) {
    if (key.arch == kPotential) {
      potentials_[name] = trace_potential(trace);
    } else {
      (key.from_zeros ? from_zeros : plain).add(key.text(), build(key));
    }
  }
  for (const Simulation* simulation : {&plain, &from_zeros}) {
    if (simulation->size() == 0) continue;
    const SimOptions options{.without_zeros = simulation == &from_zeros};
    for (const RunResult& result : simulation->run(trace, options, threads, progress).runs)
      runs_.emplace(result.arch, summarize(result));
  }
}

const Run& Runs::run(const RunKey& key) const {
  static const Run kNone;
  if (!simulated_) {
    wanted_.push_back(key);
    return kNone;
  }
  const auto found = runs_.find(key.text());
  if (found == runs_.end())
    throw std::logic_error("a figure asks for another run the second time: " + key.text());
  return found->second;
}

const TracePotential& Runs::potential(const std::string& trace) const {
  static const TracePotential kNone;
  if (!simulated_) {
    wanted_.push_back({trace, kPotential});
    return kNone;
  }
  return potentials_.at(trace);
}

std::vector<std::string> Runs::halves(const std::string& trace) const {
  const std::string recorded = recorded_part(trace);
  if (recorded.empty() || data_.samples(recorded) < 2) return {};
  return {"half:0:" + trace, "half:1:" + trace};
}

}  // namespace lacuna::reproduce
