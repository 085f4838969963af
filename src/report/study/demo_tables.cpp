#include "report/study/demo_tables.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "report/short_text.hpp"

namespace lacuna {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Sums over a batch.
double effectual_macs(const RunResult& run) {
  double sum = 0;
  for (const LayerResult& layer : run.layers)
    for (const OpResult& op : layer.ops) sum += layer.batch_scale * static_cast<double>(op.effectual_macs);
  return sum;
}

double counter(const RunResult& run, std::string_view name) {
  double sum = 0;
  for (const LayerResult& layer : run.layers)
    for (const OpResult& op : layer.ops)
      for (const Counter& c : op.counters)
        if (c.name == name) sum += layer.batch_scale * static_cast<double>(c.value);
  return sum;
}

// "compute 71 %, dram 29 %": shares of the time.
std::string bounds_text(const RunResult& run) {
  std::map<Bound, double> cycles;
  double all = 0;
  for (const LayerResult& layer : run.layers)
    for (const OpResult& op : layer.ops) {
      if (!op.activity) continue;
      cycles[op.activity->bound] += layer.batch_scale * static_cast<double>(op.cycles);
      all += layer.batch_scale * static_cast<double>(op.cycles);
    }
  std::vector<std::pair<double, Bound>> sorted;
  for (const auto& [bound, count] : cycles) sorted.emplace_back(count, bound);
  std::ranges::sort(sorted, std::greater<>());
  std::string text;
  for (const auto& [count, bound] : sorted)
    if (count / all >= 0.005)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", bound_name(bound), percent(count / all));
  return text;
}

// Says how the multipliers of an outer-product machine spend their slots.
std::string slots_text(const RunResult& run) {
  const double slots = counter(run, "multiplier_slots");
  if (slots == 0) return "";
  const double lost = counter(run, "executed_products") - counter(run, "useful_products");
  const double parts = counter(run, "fragmented_slots");
  const double waiting = std::max(0.0, counter(run, "idle_multiplier_slots") - parts);
  return fmt::format("; no output {}, part-filled {}, waiting {}", percent(lost / slots),
                     percent(parts / slots), percent(waiting / slots));
}

std::string joules_text(const std::optional<RunEnergy>& energy) {
  return energy ? fmt::format("{:.1f}", 1e3 * energy->all.machine.total()) : "-";
}

}  // namespace

std::string times_text(double speedup) { return ratio_text(speedup) + "x"; }

CycleComparison demo_cycles(const DemoMachine& machine) { return machine.ideal.per_batch().all; }

std::string zeros_table(const DemoPoint& point, const TextStyle& style) {
  TextTable table(
      with_groups({{"layer", Align::kLeft}, {"shape", Align::kLeft}, {"work"}},
                  {{"zeros", {"A", "W", "G"}}, {"at best", {"forward", "input_grad", "weight_grad"}}}));
  const auto best = [](const Potential& p) {
    return p.speedup() ? fmt::format("{:.2f}x", *p.speedup()) : std::string("-");
  };
  for (const LayerPotential& layer : point.potential.layers) {
    double macs = 0;
    PerOperation<std::string> cells{"-", "-", "-"};
    for (const OpPotential& op : layer.ops) {
      macs += layer.batch_scale * op.macs.macs;
      cells[op.op] = best(op.macs);
    }
    std::vector<std::string> row{printable(layer.name), layer.shape.describe(),
                                 percent(macs / point.potential.per_batch.all.macs)};
    for (const Operand operand : kOperands) row.push_back(percent(layer.zero_share(operand)));
    row.insert(row.end(), cells.begin(), cells.end());
    table.add_row(std::move(row));
  }
  table.add_rule();
  const PotentialTotals& all = point.potential.per_batch;
  std::vector<std::string> row{"all", "", "100 %"};
  for (const Operand operand : kOperands) row.push_back(percent(point.potential.zero_share(operand)));
  for (const Potential& op : all.ops) row.push_back(best(op));
  table.add_row(std::move(row));
  return table.render(style);
}

std::string machines_table(const DemoPoint& point, std::int64_t multipliers, const TextStyle& style) {
  std::vector<TableColumn> columns =
      with_groups({{"machine", Align::kLeft}}, {{"one step, ideal memory",
                                                 {"cycles", "forward", "input_grad", "weight_grad",
                                                  "from zeros", "without zeros", "speedup", "useful"}},
                                                {"with memory", {"from zeros", "speedup", "energy, mJ"}}});
  columns.push_back({"limited by", Align::kLeft, "bottleneck"});
  TextTable table(std::move(columns));
  for (const DemoMachine& machine : point.machines) {
    const Totals totals = machine.ideal.per_batch();
    const auto from_zeros = [](const CycleComparison& of) { return times_text(of.speedup_from_zeros()); };
    const double useful =
        effectual_macs(machine.ideal) / (static_cast<double>(multipliers) * totals.all.cycles);
    const CycleComparison with_memory = machine.with_memory.per_batch().all;
    table.add_row({machine.title, rounded_digits(totals.all.cycles), from_zeros(totals.forward),
                   from_zeros(totals.input_grad), from_zeros(totals.weight_grad), from_zeros(totals.all),
                   times_text(totals.all.speedup_without_zeros()), times_text(totals.all.speedup()),
                   percent(useful), from_zeros(with_memory), times_text(with_memory.speedup()),
                   joules_text(machine.energy),
                   bounds_text(machine.with_memory) + slots_text(machine.ideal)});
  }
  return table.render(style);
}

std::string progress_table(const std::vector<DemoPoint>& points, const TextStyle& style) {
  std::vector<TableColumn> columns = {
      {"training done", Align::kLeft}, {"A", Align::kRight, "zeros"}, {"G", Align::kRight, "zeros"}};
  for (std::size_t m = 1; m < points.front().machines.size(); ++m)
    columns.push_back({points.front().machines[m].title, Align::kRight, "speedup from zeros"});
  TextTable table(std::move(columns));
  for (const DemoPoint& point : points) {
    std::vector<std::string> row = {percent(point.progress), percent(point.potential.zero_share(Operand::kA)),
                                    percent(point.potential.zero_share(Operand::kG))};
    for (std::size_t m = 1; m < point.machines.size(); ++m)
      row.push_back(times_text(demo_cycles(point.machines[m]).speedup_from_zeros()));
    table.add_row(std::move(row));
  }
  return table.render(style);
}

}  // namespace lacuna
