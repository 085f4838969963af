#include "sim/simulate.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/parallel.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna {
namespace {

struct Job {
  std::size_t layer;
  Operation op;
  OpResult* result;
};

Totals sum_layers(const std::vector<LayerResult>& layers, bool scaled) {
  Totals totals;
  for (const LayerResult& layer : layers) {
    const double scale = scaled ? layer.batch_scale : 1.0;
    for (const OpResult& op : layer.ops) {
      for (CyclePair* sum : {&totals.of(op.op), &totals.all}) {
        sum->dense_cycles += scale * static_cast<double>(op.dense_cycles);
        sum->cycles += scale * static_cast<double>(op.cycles);
        sum->padding_free_cycles += scale * static_cast<double>(op.padding_free_cycles);
      }
    }
  }
  return totals;
}

}  // namespace

Totals RunResult::total() const { return sum_layers(layers, false); }
Totals RunResult::per_batch() const { return sum_layers(layers, true); }

RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress) {
  check_work(trace, machine, options.engine);
  RunResult run;
  run.trace = trace.path();
  run.info = trace.info();
  run.batch = trace.batch();
  run.arch = std::move(arch);
  run.engine = options.engine == Engine::kFast ? "fast" : "functional";
  run.base = machine.params().owner();
  run.seed = options.seed;
  run.hardware = machine.hardware();
  const auto values = machine.params().values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    run.config.push_back({values[i].first, values[i].second, machine.params().specs()[i].kind});
  }

  const std::vector<Layer>& layers = trace.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerResult layer{layers[i].name, layers[i].shape.describe(), trace.batch_scale(layers[i]), {}};
    layer.ops.resize(i == 0 ? 2 : 3);
    run.layers.push_back(std::move(layer));
  }
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::size_t slot = 0;
    for (const Operation op : kOperations) {
      if (i == 0 && op == Operation::kInputGrad) continue;
      jobs.push_back({i, op, &run.layers[i].ops[slot++]});
    }
  }
  // Largest first, so that no thread starts a long job when the others have ended.
  std::ranges::stable_sort(jobs, std::ranges::greater{},
                           [&](const Job& job) { return layers[job.layer].shape.macs(); });

  double all_macs = 0;
  for (const Job& job : jobs) all_macs += static_cast<double>(layers[job.layer].shape.macs());
  double done_macs = 0;
  std::mutex progress_mutex;
  with_threads(threads, [&] {
    parallel_for(jobs.size(), 1, [&](std::size_t i) {
      const Job& job = jobs[i];
      SimOptions of_layer = options;
      of_layer.batch_scale = run.layers[job.layer].batch_scale;
      *job.result = machine.simulate(layers[job.layer], job.op, of_layer);
      if (progress) {
        const std::scoped_lock lock(progress_mutex);
        done_macs += static_cast<double>(layers[job.layer].shape.macs());
        progress(done_macs / all_macs);
      }
    });
  });
  return run;
}

}  // namespace lacuna
