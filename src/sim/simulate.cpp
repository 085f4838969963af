#include "sim/simulate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "sim/trace_work.hpp"
#include "sim/without_zeros.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna {
namespace {

OperationWork planned(const TraceWork::Job& job, const std::vector<LayerPasses>& plan) {
  OperationWork work = job.work;
  if (!plan.empty()) work.passes = plan[job.layer][work.op];
  return work;
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

}  // namespace

std::size_t Simulator::intern(std::shared_ptr<const Accelerator> machine, bool only_baseline) {
  const auto [at, is_new] = by_parameters_.emplace(memo_key(machine->params(), {}), runs_.size());
  if (is_new) {
    runs_.push_back({std::move(machine), only_baseline});
  } else {
    runs_[at->second].only_baseline &= only_baseline;
  }
  return at->second;
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
  Results results;
  WorkMeter meter(progress, stop);
  with_threads(threads, [&] {
    const TraceWork work = [&] {
      const WorkPart part(meter, 0);  // only to be stopped
      return TraceWork(trace, options);
    }();
    const auto& jobs = work.jobs();
    const std::vector<std::size_t> baselines = baselines_of_runs();
    std::vector<std::vector<LayerPasses>> plans;
    const double all_macs = work.macs() * static_cast<double>((options.without_zeros ? 2 : 1) * runs_.size());
    const auto share_of = [&](const TraceWork::Job& job) { return job.macs() / all_macs; };
    for (const Run& run : runs_) {
      SimOptions of_run = options;
      if (run.only_baseline) of_run.engine = Engine::kFast;
      results.push_back(std::make_shared<RunResult>(empty_run(trace, *run.machine, of_run)));
      plans.push_back(run.machine->plan(trace, of_run));
      parallel_for(jobs.size(), 1, [&](std::size_t i) {
        const TraceWork::Job& job = *jobs[i];
        meter.check();
        const WorkPart part(meter, share_of(job));
        results.back()->layers[job.layer].ops[job.slot] =
            run.machine->simulate(planned(job, plans.back()), of_run);
      });
    }
    for (std::size_t i = 0; options.without_zeros && i < runs_.size(); ++i) {
      parallel_for(jobs.size(), 1, [&](std::size_t j) {
        const TraceWork::Job& job = *jobs[j];
        meter.check();
        const WorkPart part(meter, share_of(job));
        const auto op_of = [&](std::size_t run) -> OpResult& {
          return results[run]->layers[job.layer].ops[job.slot];
        };
        OpResult& own = op_of(i);
        if (baselines[i] == i) {
          own.cycles_without_zeros = own.cycles;
        } else if (baselines[i] != kNoBaseline) {
          const OperationWork work_of_run = planned(job, plans[i]);
          MachinesWithoutZeros(work_of_run)
              .add(*runs_[i].machine, work_of_run.passes, op_of(baselines[i]), options.actions_without_zeros,
                   own);
        }
      });
    }
  });
  meter.finish();
  return named(results);
}

std::vector<RunResult> Simulator::run_sharing(const TraceWork& work) const {
  const SimOptions options;
  Results results;
  std::vector<std::vector<LayerPasses>> plans;
  for (const Run& run : runs_) {
    check_work(work.trace(), *run.machine, Engine::kFast);
    results.push_back(std::make_shared<RunResult>(empty_run(work.trace(), *run.machine, options)));
    plans.push_back(run.machine->plan(work.trace(), options));
  }
  const std::vector<std::size_t> baselines = baselines_of_runs();
  for (const auto& job : work.jobs()) {
    WorkMemo memo;
    const auto op_of = [&](std::size_t run) -> OpResult& {
      return results[run]->layers[job->layer].ops[job->slot];
    };
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      OperationWork operation = planned(*job, plans[i]);
      operation.memo = &memo;
      op_of(i) = runs_[i].machine->simulate(operation, options);
    }
    MachinesWithoutZeros without_zeros(job->work);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (baselines[i] == i) {
        op_of(i).cycles_without_zeros = op_of(i).cycles;
      } else if (baselines[i] != kNoBaseline) {
        without_zeros.add(*runs_[i].machine, planned(*job, plans[i]).passes, op_of(baselines[i]),
                          options.actions_without_zeros, op_of(i));
      }
    }
  }
  return named(results);
}

std::vector<RunResult> Simulator::named(const Results& results) const {
  // A run that nobody else needs is not copied: it holds some megabytes for a large network.
  std::vector<int> uses(runs_.size(), 0);
  for (const Entry& entry : entries_) {
    ++uses[entry.own];
    if (entry.baseline != entry.own) ++uses[entry.baseline];
  }
  std::vector<RunResult> all;
  for (const Entry& entry : entries_) {
    all.push_back(uses[entry.own] == 1 ? std::move(*results[entry.own]) : *results[entry.own]);
    all.back().arch = entry.arch;
    all.back().remark = runs_[entry.own].machine->remark(all.back());
    if (entry.baseline != entry.own) all.back().baseline = results[entry.baseline];
  }
  return all;
}

RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress,
                         const StopCallback& stop) {
  Simulator simulator;
  simulator.add(std::move(arch), std::shared_ptr<const Accelerator>(std::shared_ptr<void>(), &machine));
  return std::move(simulator.run(trace, options, threads, progress, stop).front());
}

}  // namespace lacuna
