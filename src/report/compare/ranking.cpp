#include "report/compare/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>

#include "report/compare/design_difference.hpp"
#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

// A machine on all traces.
constexpr double kUnknown = std::numeric_limits<double>::infinity();

struct Ranked {
  std::string arch;
  std::string baseline;
  CycleComparison cycles;
  EnergyComparison energy;
  double seconds = kUnknown;
  bool has_energy = false;
  std::optional<RunArea> area;
};

std::optional<double> frequency_hz(const RunResult& run) {
  const auto at = std::ranges::find(run.config, "frequency_mhz", &ConfigValue::name);
  return at == run.config.end() ? std::nullopt : std::optional(std::stod(at->value) * 1e6);
}

std::vector<Ranked> sum_machines(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies) {
  std::vector<Ranked> machines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto at = std::ranges::find(machines, runs[i].arch, &Ranked::arch);
    if (at == machines.end()) {
      machines.emplace_back();
      machines.back().arch = runs[i].arch;
      machines.back().baseline = runs[i].baseline ? runs[i].baseline->arch : "-";
      if (frequency_hz(runs[i])) machines.back().seconds = 0;
      at = machines.end() - 1;
    }
    const CycleComparison cycles = runs[i].per_batch().all;
    at->cycles += cycles;
    at->seconds += cycles.cycles / frequency_hz(runs[i]).value_or(1);
    if (energies.empty() || energies[i].layers.empty()) continue;
    at->energy += energies[i].all;
    at->has_energy = true;
    at->area = energies[i].area;
  }
  return machines;
}

// Smaller is better; what is not known is last.
double rank_key(const Ranked& machine, RankBy by) {
  switch (by) {
    case RankBy::kTime:
      return machine.seconds;
    case RankBy::kZeros:
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
  const std::string_view what = by == RankBy::kTime     ? "time of a batch"
                                : by == RankBy::kZeros  ? "speedup from zeros"
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
  std::vector<ColumnGroup> groups{
      {"whole batch", {"cycles", "time, ms", "from zeros", "without zeros", "speedup"}}};
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
                                   number(std::isfinite(m.seconds), 1e3 * m.seconds, 3),
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
    if (m.cycles.speedup_without_zeros() > kWarnWithoutZeros) {
      text += fmt::format(
          "\nwarning: 'without zeros' above 1.05 comes from lanes without an element, not from zeros\n");
      break;
    }
  }
  text += mixed_memory_warning(runs);
  if (nodes.size() > 1)
    text += "\nwarning: areas of different nodes do not compare ('--node NM' scales logic and SRAM)\n";
  return text + std::string(kSpeedupLegend) + std::string(energies.empty() ? "" : kEnergyLegend);
}

}  // namespace lacuna
