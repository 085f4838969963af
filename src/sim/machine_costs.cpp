#include "sim/machine_costs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna {

MachineCosts::MachineCosts(const Simulator& simulator, const CostChoice& choice, const std::string& origin)
    : tables_(simulator.size()), areas_(simulator.size()) {
  if (!choice.table.empty())
    check_cost_names(CostTable::open(choice.table, origin), ArchCatalog().all_hardware());
  for (std::size_t i = 0; i < simulator.size(); ++i) {
    const auto hardware = simulator.machine(i).hardware();
    const auto baseline = simulator.baseline(i).hardware();
    if (!hardware || !baseline) continue;
    tables_[i] = energy_table(choice.table, choice.node_nm, *hardware);
    check_energy_costs(*tables_[i], *hardware, simulator.arch(i));
    check_energy_costs(*tables_[i], *baseline, simulator.baseline(i).params().owner());
  }
  for (std::size_t i = 0; i < simulator.size(); ++i) {
    const auto hardware = simulator.machine(i).hardware();
    if (!hardware) continue;
    try {
      areas_[i] = run_area(simulator.arch(i), *hardware, simulator.baseline(i).hardware(), choice.table,
                           choice.node_nm);
    } catch (const InputError& error) {  // an energy table need not have areas
      unknown_areas_ += fmt::format("no area of {}\n", error.what());
    }
  }
}

std::vector<RunEnergy> MachineCosts::energies(const std::vector<RunResult>& runs) const {
  std::vector<RunEnergy> energies;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<CostTable>& table = tables_[i % tables_.size()];
    energies.push_back(table ? run_energy(runs[i], *table) : RunEnergy{});
    energies.back().area = areas_[i % areas_.size()];
  }
  return energies;
}

}  // namespace lacuna
