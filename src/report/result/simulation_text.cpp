#include "report/result/simulation_text.hpp"

#include <fmt/format.h>

#include "report/arch_report.hpp"
#include "report/compare/design_difference.hpp"
#include "report/energy/energy_report.hpp"
#include "report/result/result_tables.hpp"

namespace lacuna {

std::string simulation_notes(const std::vector<Machine>& machines, const Simulation& simulation,
                             Engine engine, const SimulationOutcome& outcome) {
  std::string notes;
  for (const Machine& machine : machines) {
    const std::string changed = changed_parameters(machine.params);
    if (!changed.empty()) notes += fmt::format("{}: {}\n", machine.name, changed);
  }
  for (std::size_t i = 0; engine == Engine::kFast && i < simulation.size(); ++i) {
    const std::string reason = simulation.machine(i).slow_engine_reason();
    if (!reason.empty()) notes += fmt::format("{}: {}\n", simulation.arch(i), reason);
  }
  const std::shared_ptr<const RunResult> baseline =
      outcome.runs.empty() ? nullptr : outcome.runs.front().baseline;
  if (simulation.has_fixed_baseline() && baseline)
    notes += fmt::format("all are compared with {}\n", baseline->arch);
  return notes + design_differences(outcome.runs);
}

std::string simulation_text(const SimulationOutcome& outcome, const std::string& notes, bool layers,
                            std::optional<RankBy> rank, const TextStyle& style) {
  std::string text;
  if (!notes.empty()) text += fmt::format("{}\n", notes);
  if (rank) {
    text += ranking_table(outcome.runs, outcome.energies, *rank, style);
  } else {
    text += result_tables(outcome.runs, layers, style);
    if (!outcome.energies.empty()) text += energy_tables(outcome.runs, outcome.energies, layers, style);
  }
  if (!outcome.unknown_areas.empty()) text += fmt::format("\n{}", outcome.unknown_areas);
  return text;
}

}  // namespace lacuna
