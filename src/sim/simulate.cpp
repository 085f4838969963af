#include "sim/simulate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "sim/without_zeros.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna {
namespace {

// Every operation of a trace, and where its result belongs.
struct Job {
  OperationWork work;
  std::size_t layer, slot;
};

double macs_of(const Job& job) { return static_cast<double>(job.work.macs.macs); }

using Jobs = std::vector<std::unique_ptr<const Job>>;

Jobs list_jobs(const Trace& trace, const std::vector<Layer>& layers, const SimOptions& options) {
  struct Place {
    std::size_t layer, slot;
    Operation op;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::size_t slot = 0;
    for (const Operation op : kOperations) {
      if (options.runs(i, op)) places.push_back({i, slot++, op});
    }
  }
  Jobs jobs(places.size());
  parallel_for(places.size(), 1, [&](std::size_t i) {
    const Layer& layer = layers[places[i].layer];
    jobs[i] = std::make_unique<const Job>(
        Job{OperationWork(layer, places[i].op, trace.batch_scale(layer)), places[i].layer, places[i].slot});
  });
  // Largest first, so that no thread starts a long job when the others have ended.
  std::ranges::stable_sort(jobs, std::ranges::greater{}, [](const auto& job) { return macs_of(*job); });
  return jobs;
}

// The result's description, with room for what the machine will say.
RunResult empty_run(const Trace& trace, const Accelerator& machine, const SimOptions& options) {
  RunResult run;
  run.trace = trace.path();
  run.info = trace.info();
  run.batch = trace.batch();
  run.arch = run.base = machine.params().owner();
  run.engine = engine_name(options.engine);
  run.seed = options.seed;
  run.hardware = machine.hardware();
  const auto values = machine.params().values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    run.config.push_back({values[i].first, values[i].second, machine.params().specs()[i].kind});
  }
  for (std::size_t i = 0; i < trace.layers().size(); ++i) {
    const Layer& layer = trace.layers()[i];
    LayerResult result{layer.name, layer.shape.describe(), trace.batch_scale(layer), {}};
    result.ops.resize(static_cast<std::size_t>(
        std::ranges::count_if(kOperations, [&](Operation op) { return options.runs(i, op); })));
    run.layers.push_back(std::move(result));
  }
  return run;
}

double macs_of(const Jobs& jobs) {
  double macs = 0;
  for (const auto& job : jobs) macs += macs_of(*job);
  return macs;
}

}  // namespace

std::size_t Simulator::intern(std::shared_ptr<const Accelerator> machine, bool only_baseline) {
  const auto same = [&](const Run& run) {
    return run.machine->params().owner() == machine->params().owner() &&
           run.machine->params().values() == machine->params().values();
  };
  const auto at = std::ranges::find_if(runs_, same);
  if (at == runs_.end()) {
    runs_.push_back({std::move(machine), only_baseline});
    return runs_.size() - 1;
  }
  at->only_baseline = at->only_baseline && only_baseline;
  return static_cast<std::size_t>(at - runs_.begin());
}

void Simulator::add(std::string arch, std::shared_ptr<const Accelerator> machine) {
  const std::optional<BaselineSpec> spec = machine->baseline();
  const std::size_t own = intern(std::move(machine), false);
  std::size_t baseline = own;
  if (spec) {
    const AcceleratorModel* model = registry_.find(spec->model);
    if (model == nullptr) {
      throw std::logic_error(
          fmt::format("{} names the baseline '{}', which is not registered", arch, spec->model));
    }
    Params params(model->name, model->params);
    for (const auto& [name, value] : spec->settings) params.set(name, value, arch);
    baseline = intern(model->make(std::move(params)), true);
  }
  entries_.push_back({std::move(arch), own, baseline});
}

std::vector<std::size_t> Simulator::baselines_of_runs() const {
  std::vector<std::size_t> baselines(runs_.size(), kNoBaseline);
  for (const Entry& entry : entries_) baselines[entry.own] = entry.baseline;
  return baselines;
}

std::vector<RunResult> Simulator::run(const Trace& trace, const SimOptions& options, int threads,
                                      const ProgressCallback& progress, const StopCallback& stop) const {
  for (const Run& run : runs_) {
    check_work(trace, *run.machine, run.only_baseline ? Engine::kFast : options.engine);
  }
  const KnownLayers known(trace);
  std::vector<std::shared_ptr<RunResult>> results;
  WorkMeter meter(progress, stop);
  with_threads(threads, [&] {
    const Jobs jobs = [&] {
      const WorkPart part(meter, 0);  // only to be stopped
      return list_jobs(trace, known.layers(), options);
    }();
    const std::vector<std::size_t> baselines = baselines_of_runs();
    const double all_macs =
        macs_of(jobs) * static_cast<double>((options.without_zeros ? 2 : 1) * runs_.size());
    const auto share_of = [&](const Job& job) { return macs_of(job) / all_macs; };
    for (const Run& run : runs_) {
      SimOptions of_run = options;
      if (run.only_baseline) of_run.engine = Engine::kFast;
      results.push_back(std::make_shared<RunResult>(empty_run(trace, *run.machine, of_run)));
      parallel_for(jobs.size(), 1, [&](std::size_t i) {
        const Job& job = *jobs[i];
        meter.check();
        const WorkPart part(meter, share_of(job));
        results.back()->layers[job.layer].ops[job.slot] = run.machine->simulate(job.work, of_run);
      });
    }
    for (std::size_t i = 0; options.without_zeros && i < runs_.size(); ++i) {
      parallel_for(jobs.size(), 1, [&](std::size_t j) {
        const Job& job = *jobs[j];
        meter.check();
        const WorkPart part(meter, share_of(job));
        const auto op_of = [&](std::size_t run) -> OpResult& {
          return results[run]->layers[job.layer].ops[job.slot];
        };
        OpResult& own = op_of(i);
        if (baselines[i] == i) {
          own.cycles_without_zeros = own.cycles;
        } else if (baselines[i] != kNoBaseline) {
          add_without_zeros(*runs_[i].machine, job.work, op_of(baselines[i]), options.actions_without_zeros,
                            own);
        }
      });
    }
  });
  meter.finish();
  std::vector<RunResult> named;
  for (const Entry& entry : entries_) {
    named.push_back(*results[entry.own]);
    named.back().arch = entry.arch;
    named.back().remark = runs_[entry.own].machine->remark(named.back());
    if (entry.baseline != entry.own) named.back().baseline = results[entry.baseline];
  }
  return named;
}

RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress,
                         const StopCallback& stop) {
  Simulator simulator;
  simulator.add(std::move(arch), std::shared_ptr<const Accelerator>(std::shared_ptr<void>(), &machine));
  return std::move(simulator.run(trace, options, threads, progress, stop).front());
}

}  // namespace lacuna
