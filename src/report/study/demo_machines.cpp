#include "report/study/demo_tables.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna {

DemoMachines::DemoMachines() {
  const ArchCatalog catalog;
  for (const DemoEntry& entry : kDemoMachines) {
    std::vector<Machine> machine{catalog.find(entry.arch, "demo")};
    if (!entry.setting.empty()) apply_setting(machine, entry.setting, "demo");
    ideal_.add(machine.front().name, machine.front().build());
    apply_setting(machine, "memory=modelled", "demo");
    with_memory_.add(machine.front().name, machine.front().build());
  }
}

DemoPoint DemoMachines::simulate(const Trace& trace, int threads,
                                 const std::function<void(double)>& progress) {
  DemoPoint point;
  point.progress = trace.info().progress.value_or(0);
  point.potential = trace_potential(trace);
  const SimOptions options{.actions_without_zeros = true};  // for the energy that zeros save
  std::vector<RunResult> ideal = ideal_.run(trace, options, threads, progress).runs;
  std::vector<RunResult> with_memory = with_memory_.run(trace, options, threads, progress).runs;
  for (std::size_t i = 0; i < kDemoMachines.size(); ++i) {
    DemoMachine made{std::string(kDemoMachines[i].title), std::move(ideal[i]), std::move(with_memory[i]), {}};
    const RunResult& costed = made.with_memory;
    if (has_energy(costed)) {
      made.energy = run_energy(costed, energy_table("", 0, *costed.hardware));
      made.energy->area = run_area(costed.arch, *costed.hardware, costed.compared_with().hardware, "", 0);
    }
    point.machines.push_back(std::move(made));
  }
  return point;
}

SimulationOutcome demo_outcome(const std::vector<DemoPoint>& points) {
  std::vector<RunResult> runs;
  std::vector<RunEnergy> energies;
  for (const DemoPoint& point : points)
    for (const DemoMachine& machine : point.machines) {
      runs.push_back(machine.with_memory);
      energies.push_back(machine.energy ? *machine.energy : RunEnergy{});
    }
  return {std::move(runs), std::move(energies)};
}

}  // namespace lacuna
