#include "report/compare/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>

#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

// A machine on all traces.
struct Ranked {
  std::string arch;
  std::string baseline;
  CycleComparison cycles;
  EnergyComparison energy;
  double seconds = 0;
  bool has_energy = false;
  std::optional<RunArea> area;
};

std::vector<Ranked> sum_machines(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies) {
  std::vector<Ranked> machines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto at = std::ranges::find(machines, runs[i].arch, &Ranked::arch);
    if (at == machines.end()) {
      machines.emplace_back();
      machines.back().arch = runs[i].arch;
      machines.back().baseline = runs[i].baseline ? runs[i].baseline->arch : "-";
      at = machines.end() - 1;
    }
    at->cycles += runs[i].per_batch().all;
    if (energies.empty() || energies[i].layers.empty()) continue;
    at->energy += energies[i].all;
    at->seconds += energies[i].machine_seconds;
    at->has_energy = true;
    at->area = energies[i].area;
  }
  return machines;
}

// Smaller is better; what is not known is last.
double rank_key(const Ranked& machine, RankBy by) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  switch (by) {
    case RankBy::kSpeedup:
      return std::isnan(machine.cycles.speedup_from_zeros()) ? kUnknown
                                                             : -machine.cycles.speedup_from_zeros();
    case RankBy::kEnergy:
      return machine.has_energy ? machine.energy.machine.total() : kUnknown;
    case RankBy::kArea:
      return machine.area ? machine.area->machine.total_mm2 : kUnknown;
  }
  return kUnknown;
}

std::string number(bool known, double value, int digits) {
  return known ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string title_of(const std::vector<RunResult>& runs, std::size_t machines, RankBy by) {
  std::set<std::string> traces, models;
  for (const RunResult& run : runs) {
    traces.insert(run.trace);
    models.insert(run.info.model);
  }
  const std::string on = models.size() == 1
                             ? printable(runs.front().info.model) + total_coverage(runs.front().info)
                             : counted(static_cast<std::int64_t>(models.size()), "model");
  const std::string together =
      traces.size() == 1
          ? ""
          : fmt::format(", {} traces together", grouped_digits(static_cast<std::int64_t>(traces.size())));
  const std::string_view what = by == RankBy::kSpeedup  ? "speedup from zeros"
                                : by == RankBy::kEnergy ? "energy of a batch"
                                                        : "area of the chip";
  return fmt::format("{} on {}{}, ranked by {}", counted(static_cast<std::int64_t>(machines), "machine"), on,
                     together, what);
}

}  // namespace

std::string ranking_table(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                          RankBy by, const TextStyle& style) {
  std::vector<Ranked> machines = sum_machines(runs, energies);
  std::ranges::stable_sort(machines, {}, [&](const Ranked& machine) { return rank_key(machine, by); });
  std::vector<ColumnGroup> groups{{"whole batch", {"cycles", "from zeros", "empty lanes", "speedup"}}};
  if (!energies.empty()) {
    groups.push_back({"energy of a batch", {"mJ", "from zeros", "efficiency", "power, W"}});
    groups.push_back({"chip area", {"mm2", "node, nm"}});
  }
  TextTable table(with_groups({{""}, {"machine", Align::kLeft}, {"baseline", Align::kLeft}}, groups));
  std::set<double> nodes;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Ranked& m = machines[i];
    std::vector<std::string> cells{std::to_string(i + 1),
                                   m.arch,
                                   m.baseline,
                                   rounded_digits(m.cycles.cycles),
                                   ratio_text(m.cycles.cycles_without_zeros, m.cycles.cycles),
                                   ratio_text(m.cycles.baseline_cycles, m.cycles.cycles_without_zeros),
                                   ratio_text(m.cycles.baseline_cycles, m.cycles.cycles)};
    if (!energies.empty()) {
      const double joules = m.energy.machine.total();
      cells.push_back(number(m.has_energy, joules * 1e3, 3));
      cells.push_back(m.has_energy ? ratio_text(m.energy.chip_efficiency_from_zeros()) : "-");
      cells.push_back(m.has_energy ? ratio_text(m.energy.chip_efficiency()) : "-");
      cells.push_back(number(m.has_energy, joules / m.seconds, 2));
      cells.push_back(number(m.area.has_value(), m.area ? m.area->machine.total_mm2 : 0, 2));
      cells.push_back(m.area ? fmt::format("{}", m.area->node_nm) : "-");
      if (m.area) nodes.insert(m.area->node_nm);
    }
    table.add_row(std::move(cells));
  }
  std::string text =
      fmt::format("{}\n{}", bold_text(title_of(runs, machines.size(), by), style), table.render(style));
  for (const Ranked& m : machines) {
    if (m.cycles.speedup_from_empty_lanes() > kWarnEmptyLanes) {
      text += fmt::format(
          "\nwarning: speedups above 'from zeros' by more than 5 % come from lanes that hold no element\n");
      break;
    }
  }
  if (nodes.size() > 1)
    text += "\nwarning: areas of different nodes do not compare ('--node NM' scales logic and SRAM)\n";
  return text + std::string(kSpeedupLegend) + std::string(energies.empty() ? "" : kEnergyLegend);
}

}  // namespace lacuna
