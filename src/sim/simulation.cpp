#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <stdexcept>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "sim/without_zeros.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna {
namespace {

// The result's description, with empty slots for the operations.
RunResult empty_run(const Trace& trace, const Accelerator& machine, const SimOptions& options) {
  RunResult run;
  run.trace = trace.path();
  run.info = trace.info();
  run.batch = trace.batch();
  run.arch = run.base = machine.params().owner();
  run.engine = engine_name(options.engine);
  run.seed = options.seed;
  run.hardware = machine.hardware();
  run.config = resolved_config(machine.params());
  for (std::size_t i = 0; i < trace.layers().size(); ++i) {
    const Layer& layer = trace.layers()[i];
    LayerResult result{layer.name, layer.shape.describe(), trace.batch_scale(layer), {}};
    result.ops.resize(static_cast<std::size_t>(
        std::ranges::count_if(kOperations, [&](Operation op) { return options.runs(trace, i, op); })));
    run.layers.push_back(std::move(result));
  }
  return run;
}

// A machine on a trace: its options, its plans and its result.
struct MachineRun {
  using Plan = std::vector<LayerPasses>;

  const Accelerator& machine;
  SimOptions options;
  Plan plan, plan_without_zeros;
  std::shared_ptr<RunResult> result;

  // `without_zeros`: the same trace without zeros, or null if nobody asks for it.
  MachineRun(const Trace& trace, const Trace* without_zeros, const Accelerator& of, const SimOptions& with)
      : machine(of),
        options(with),
        plan(of.plan(trace, with)),
        plan_without_zeros(without_zeros != nullptr ? of.plan(*without_zeros, with) : Plan()),
        result(std::make_shared<RunResult>(empty_run(trace, of, with))) {}

  static OperationWork planned(const TraceWork::Job& job, const Plan& plan, WorkMemo& memo) {
    OperationWork work = job.work;
    work.memo = &memo;
    if (!plan.empty()) work.passes = plan[job.layer][work.op];
    return work;
  }
  // 0 if the machine declares no hardware.
  std::int64_t multipliers() const {
    return result->hardware ? std::llround(result->hardware->total("multipliers")) : 0;
  }
  OpResult& slot(const TraceWork::Job& job) const { return result->layers[job.layer].ops[job.slot]; }
};

}  // namespace

void SimulationOutcome::append(SimulationOutcome&& other) {
  std::ranges::move(other.runs, std::back_inserter(runs));
  std::ranges::move(other.energies, std::back_inserter(energies));
  unknown_areas = std::move(other.unknown_areas);
}

Simulation::Simulation(const std::vector<Machine>& machines, const std::optional<Machine>& baseline)
    : Simulation() {
  if (baseline) fix_baseline(baseline->name, baseline->build());
  for (const Machine& machine : machines) add(machine.name, machine.build());
}

std::size_t Simulation::intern(std::shared_ptr<const Accelerator> machine, bool only_baseline) {
  const auto [at, is_new] = by_parameters_.emplace(memo_key(machine->params(), {}), machines_.size());
  if (is_new) {
    machines_.push_back({std::move(machine), only_baseline});
  } else {
    machines_[at->second].only_baseline &= only_baseline;
  }
  return at->second;
}

// Refuses to compare a machine that waits for memory with one that does not.
void Simulation::check_same_memory(const std::string& arch, const Params& own, const FixedBaseline& fixed) {
  const Params& other = fixed.machine->params();
  if (!own.has("memory") || !other.has("memory") || own.text("memory") == other.text("memory")) return;
  throw InputError(
      arch,
      fmt::format("it has memory={}, its baseline {} has memory={}: their cycles do not compare",
                  own.text("memory"), fixed.arch, other.text("memory")),
      fmt::format("give both the same: memory={} for the baseline (in its file, or 'lacuna simulate "
                  "--set baseline.memory={}'), or memory={} for the machine",
                  own.text("memory"), own.text("memory"), other.text("memory")));
}

void Simulation::fix_baseline(std::string arch, std::shared_ptr<const Accelerator> machine) {
  fixed_baseline_ = {std::move(arch), std::move(machine)};
}

void Simulation::add(std::string arch, std::shared_ptr<const Accelerator> machine) {
  const std::optional<BaselineSpec> spec = machine->baseline();
  const std::size_t own = intern(std::move(machine), false);
  std::size_t baseline = own;
  if (fixed_baseline_) {
    check_same_memory(arch, machines_[own].machine->params(), *fixed_baseline_);
    baseline = intern(fixed_baseline_->machine, true);
  } else if (spec) {
    const AcceleratorModel* model = registry_.find(spec->model);
    if (model == nullptr) {
      throw std::logic_error(
          fmt::format("{} names the baseline '{}', which is not registered", arch, spec->model));
    }
    Params params(model->name, model->params);
    for (const auto& [name, value] : spec->settings) params.set(name, value, arch);
    baseline = intern(model->make(std::move(params)), true);
  }
  entries_.push_back({std::move(arch), own, baseline, {}, {}});
}

void Simulation::price(const CostChoice& choice, const std::string& origin) {
  priced_ = true;
  if (!choice.table.empty())
    check_cost_names(CostTable::open(choice.table, origin), ArchCatalog().all_hardware());
  for (std::size_t i = 0; i < size(); ++i) {
    const auto hardware = machine(i).hardware(), of_baseline = baseline(i).hardware();
    if (!hardware || !of_baseline) continue;
    CostTable& table = entries_[i].costs.emplace(energy_table(choice.table, choice.node_nm, *hardware));
    check_energy_costs(table, *hardware, arch(i));
    check_energy_costs(table, *of_baseline, baseline(i).params().owner());
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const auto hardware = machine(i).hardware();
    if (!hardware) continue;
    try {
      entries_[i].area = run_area(arch(i), *hardware, baseline(i).hardware(), choice.table, choice.node_nm);
    } catch (const InputError& error) {  // an energy table need not have areas
      unknown_areas_ += fmt::format("no area of {}\n", error.what());
    }
  }
}

SimulationOutcome Simulation::run(const Trace& trace, const SimOptions& options, int threads,
                                  const ProgressCallback& progress, const StopCallback& stop) const {
  for (const RunMachine& each : machines_)
    check_work(trace, *each.machine, each.only_baseline ? Engine::kFast : options.engine);
  SimulationOutcome outcome;
  with_threads(threads, [&] {
    const ProgressCallback none;
    WorkMeter meter(none, stop);
    const TraceWork work = [&] {
      const WorkPart part(meter, 0);  // only to be stopped
      return TraceWork(trace, options);
    }();
    outcome = run(work, options, progress, stop);
  });
  return outcome;
}

SimulationOutcome Simulation::run(const TraceWork& work, const SimOptions& options,
                                  const ProgressCallback& progress, const StopCallback& stop) const {
  SimulationOutcome all = run_recorded(work, options, progress, stop);
  for (const DataTypeFacts& facts : kDataTypes) {
    const TraceWork& rounded = work.in(facts.type);
    if (&rounded == &work) continue;
    const auto computes_in_it = [&](const RunResult& run) {
      return run.hardware && run.hardware->data_type == facts.name;
    };
    if (std::ranges::none_of(all.runs, computes_in_it)) continue;
    SimulationOutcome of_type = run_recorded(rounded, options, progress, stop);
    for (std::size_t i = 0; i < all.runs.size(); ++i) {
      if (!computes_in_it(all.runs[i])) continue;
      all.runs[i] = std::move(of_type.runs[i]);
      if (!all.energies.empty()) all.energies[i] = std::move(of_type.energies[i]);
    }
  }
  return all;
}

SimulationOutcome Simulation::run_recorded(const TraceWork& work, const SimOptions& options,
                                           const ProgressCallback& progress, const StopCallback& stop) const {
  std::optional<Trace> full;
  if (options.without_zeros) full.emplace(trace_without_zeros(work.trace()));
  std::vector<MachineRun> runs;
  for (const RunMachine& each : machines_) {
    SimOptions own = options;
    if (each.only_baseline) own.engine = Engine::kFast;
    check_work(work.trace(), *each.machine, own.engine);
    runs.emplace_back(work.trace(), each.only_baseline || !full ? nullptr : &*full, *each.machine, own);
  }
  WorkMeter meter(progress, stop);
  const double all_macs = work.macs() * static_cast<double>((options.without_zeros ? 2 : 1) * runs.size());
  parallel_for(work.jobs().size(), 1, [&](std::size_t i) {
    const TraceWork::Job& job = *work.jobs()[i];
    const double share = job.macs() / all_macs;
    WorkMemo memo;
    for (const MachineRun& run : runs) {
      meter.check();
      const WorkPart part(meter, share);
      OpResult& result = run.slot(job);
      result = run.machine.simulate(MachineRun::planned(job, run.plan, memo), run.options);
      result.peak_macs = run.multipliers() * result.cycles;
    }
    if (!full) return;
    const TraceWork::Job without_zeros(*full, job.layer, job.slot, job.work.op);
    WorkMemo memo_without_zeros;
    for (std::size_t m = 0; m < runs.size(); ++m) {
      meter.check();
      const WorkPart part(meter, share);
      if (machines_[m].only_baseline) continue;
      const MachineRun& run = runs[m];
      OpResult result = run.machine.simulate(
          MachineRun::planned(without_zeros, run.plan_without_zeros, memo_without_zeros), {});
      run.slot(job).cycles_without_zeros = result.cycles;
      if (options.actions_without_zeros) run.slot(job).actions_without_zeros = std::move(result.actions);
    }
  });
  meter.finish();
  std::vector<std::shared_ptr<RunResult>> results;
  for (MachineRun& run : runs) results.push_back(std::move(run.result));
  return outcome(results);
}

SimulationOutcome Simulation::outcome(const std::vector<std::shared_ptr<RunResult>>& runs) const {
  // A run that nobody else needs is not copied: it holds some megabytes for a large network.
  std::vector<int> uses(runs.size(), 0);
  for (const Entry& entry : entries_) {
    ++uses[entry.own];
    if (entry.baseline != entry.own) ++uses[entry.baseline];
  }
  if (fixed_baseline_ && !entries_.empty()) runs[entries_.front().baseline]->arch = fixed_baseline_->arch;
  SimulationOutcome all;
  all.unknown_areas = unknown_areas_;
  for (const Entry& entry : entries_) {
    RunResult& run =
        all.runs.emplace_back(uses[entry.own] == 1 ? std::move(*runs[entry.own]) : *runs[entry.own]);
    run.arch = entry.arch;
    run.remark = machines_[entry.own].machine->remark(run);
    if (entry.baseline != entry.own) run.baseline = runs[entry.baseline];
    if (!priced_) continue;
    RunEnergy& energy = all.energies.emplace_back(entry.costs ? run_energy(run, *entry.costs) : RunEnergy{});
    energy.area = entry.area;
  }
  return all;
}

RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress,
                         const StopCallback& stop) {
  Simulation simulation;
  simulation.add(std::move(arch), std::shared_ptr<const Accelerator>(std::shared_ptr<void>(), &machine));
  return std::move(simulation.run(trace, options, threads, progress, stop).runs.front());
}

}  // namespace lacuna
