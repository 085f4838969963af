#include "report/result/result_csv.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

#include "base/text/csv_text.hpp"
#include "report/result/json_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

// Names in the order in which they first occur.
void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// Machines have counters of their own: each gets a column.
std::vector<std::string> counter_names(const std::vector<RunResult>& runs) {
  std::vector<std::string> names;
  for (const RunResult& run : runs) {
    for (const LayerResult& layer : run.layers) {
      for (const OpResult& op : layer.ops) {
        for (const Counter& counter : op.counters) add_name(names, counter.name);
      }
    }
  }
  return names;
}

bool has_activity(const std::vector<RunResult>& runs) {
  return std::ranges::any_of(runs, [](const RunResult& run) {
    return std::ranges::any_of(run.layers, [](const LayerResult& layer) {
      return std::ranges::any_of(layer.ops, [](const OpResult& op) { return op.activity.has_value(); });
    });
  });
}

// A line of cells. What is not a number (a ratio without cycles) leaves its cell empty.
class Cells {
 public:
  void text(std::string_view value) { add(csv_text(value)); }
  void number(double value) { add(std::isfinite(value) ? json_number(value) : ""); }
  // Several cells that are written already.
  void written(const std::string& cells) { add(cells); }
  void empty(std::size_t count = 1) { line_.append(count, ','); }
  // A separator before every cell but the first.
  std::string line() const { return line_.substr(1) + '\n'; }

 private:
  void add(const std::string& cell) { line_ += fmt::format(",{}", cell); }
  std::string line_;
};

// From what is recorded of a layer, or is once per batch, to the basis of the file.
struct Scale {
  double samples;  // of what grows with the samples
  double batch;    // of what is once per batch

  Scale(CsvBasis basis, double batch_scale)
      : samples(basis == CsvBasis::kBatch ? batch_scale : 1),
        batch(basis == CsvBasis::kBatch ? 1 : 1 / batch_scale) {}
};

// Each component that any run lists has a column on its side; those a machine does not have stay empty.
class EnergyColumns {
 public:
  explicit EnergyColumns(const std::vector<RunEnergy>& energies) {
    for (const RunEnergy& energy : energies) {
      for (const auto& part : energy.all.baseline.values) add_name(baseline_, part.name);
      for (const auto& part : energy.all.machine.values) add_name(machine_, part.name);
    }
  }

  bool any() const { return !machine_.empty(); }

  void header(Cells& cells, std::string_view per) const {
    cells.text("energy_table");
    cells.text("energy_node_nm");
    const auto side = [&](std::string_view name, const std::vector<std::string>& components) {
      for (const std::string& component : components)
        cells.text(fmt::format("energy_{}_{}_joules{}", name, component, per));
      cells.text(fmt::format("energy_{}_total_joules{}", name, per));
    };
    side("baseline", baseline_);
    side("machine", machine_);
    for (const char* name :
         {"energy_compute_efficiency", "energy_chip_efficiency", "energy_compute_efficiency_from_zeros",
          "energy_chip_efficiency_from_zeros", "power_baseline_average_watts_of_step",
          "power_machine_average_watts_of_step", "power_machine_peak_watts_of_logic", "area_table",
          "area_node_nm", "area_baseline_mm2_of_chip", "area_machine_mm2_of_chip"})
      cells.text(name);
  }

  void fields(Cells& cells, const RunEnergy& energy, std::size_t layer, std::size_t op, double scale) const {
    constexpr std::size_t kOthers = 15;
    if (energy.layers.empty()) return cells.empty(kOthers + baseline_.size() + machine_.size());
    const EnergyComparison& pair = energy.layers[layer].ops[op].energy;
    cells.text(energy.table);
    cells.number(energy.node_nm);
    side_fields(cells, pair.baseline, baseline_, scale);
    side_fields(cells, pair.machine, machine_, scale);
    cells.number(pair.compute_efficiency());
    cells.number(pair.chip_efficiency());
    cells.number(pair.compute_efficiency_from_zeros());
    cells.number(pair.chip_efficiency_from_zeros());
    cells.number(energy.baseline_watts());
    cells.number(energy.machine_watts());
    if (!energy.area) return cells.empty(5);
    const RunArea& area = *energy.area;
    const auto known = [&](bool is, double value) { is ? cells.number(value) : cells.empty(); };
    known(area.machine.peak_watts > 0, area.machine.peak_watts);
    cells.text(area.table);
    cells.number(area.node_nm);
    known(area.baseline.has_value(), area.baseline ? area.baseline->total_mm2 : 0);
    cells.number(area.machine.total_mm2);
  }

 private:
  static void side_fields(Cells& cells, const ByComponent& parts, const std::vector<std::string>& components,
                          double scale) {
    for (const std::string& component : components) {
      const ByComponent::Value* part = parts.find(component);
      part == nullptr ? cells.empty() : cells.number(part->value * scale);
    }
    cells.number(parts.total() * scale);
  }

  std::vector<std::string> baseline_, machine_;
};

class CsvWriter {
 public:
  CsvWriter(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies, CsvBasis basis)
      : runs_(runs),
        energies_(energies),
        basis_(basis),
        counters_(counter_names(runs)),
        activity_(has_activity(runs)),
        energy_(energies) {}

  std::string write() const {
    std::string text = header();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      for (std::size_t l = 0; l < runs_[r].layers.size(); ++l) {
        for (std::size_t o = 0; o < runs_[r].layers[l].ops.size(); ++o) text += row(r, l, o);
      }
    }
    return text;
  }

 private:
  std::string header() const {
    const std::string_view per = basis_ == CsvBasis::kBatch ? "_per_batch" : "_as_recorded";
    Cells cells;
    const auto count = [&](std::string_view name) { cells.text(fmt::format("{}{}", name, per)); };
    for (const char* name : {"trace", "model", "progress", "recorded_share", "left_out", "arch", "engine",
                             "layer", "shape", "batch", "batch_scale", "op", "scheduled"})
      cells.text(name);
    for (const char* name : {"macs", "scheduled_macs", "effectual_macs"}) count(name);
    cells.text("baseline");
    for (const char* name : {"baseline_cycles", "cycles_without_zeros", "cycles"}) count(name);
    for (const char* name : {"speedup", "speedup_from_zeros", "speedup_from_empty_lanes"}) cells.text(name);
    // A prefix each, as the JSON has them in objects of their own: names of machines' counters are free.
    for (const std::string& name : counters_) count("counter_" + name);
    if (activity_) {
      cells.text("bound");
      cells.text("baseline_bound");
      count("baseline_compute_cycles");
      for (const auto& [name, field] : kActivityCounts) count(fmt::format("activity_{}", name));
      for (const char* part : {"samples", "weights"}) {
        for (const auto& [name, field] : kTrafficCounts) count(fmt::format("activity_{}_{}", part, name));
      }
    }
    if (energy_.any()) energy_.header(cells, per);
    return cells.line();
  }

  std::string row(std::size_t r, std::size_t l, std::size_t o) const {
    const RunResult& run = runs_[r];
    const LayerResult& layer = run.layers[l];
    const OpResult& op = layer.ops[o];
    const Scale scale(basis_, layer.batch_scale);
    const CycleComparison cycles = run.cycles_of(l, o);
    Cells cells;
    const auto count = [&](double value) { cells.number(value * scale.samples); };
    cells.text(run.trace);
    cells.text(run.info.model);
    run.info.progress ? cells.number(*run.info.progress) : cells.empty();
    cells.written(coverage_cells(run.info));
    for (const std::string& name : {run.arch, run.engine, layer.name, layer.shape}) cells.text(name);
    cells.number(static_cast<double>(run.batch));
    cells.number(layer.batch_scale);
    cells.text(operation_name(op.op));
    cells.text(scheduled_name(op.scheduled));
    for (const std::int64_t macs : {op.macs, op.scheduled_macs, op.effectual_macs})
      count(static_cast<double>(macs));
    cells.text(run.compared_with().arch);
    count(cycles.baseline_cycles);
    count(cycles.cycles_without_zeros);
    count(cycles.cycles);
    cells.number(cycles.baseline_cycles / cycles.cycles);
    cells.number(cycles.cycles_without_zeros / cycles.cycles);
    cells.number(cycles.baseline_cycles / cycles.cycles_without_zeros);
    for (const std::string& name : counters_) {
      const auto at = std::ranges::find(op.counters, name, &Counter::name);
      if (at == op.counters.end()) {
        cells.empty();
      } else {
        cells.number(static_cast<double>(at->value) * (at->once ? scale.batch : scale.samples));
      }
    }
    if (activity_) activity_fields(cells, op, run.baseline_op(l, o), scale);
    if (energy_.any()) energy_.fields(cells, energies_[r], l, o, scale.batch);
    return cells.line();
  }

  static void activity_fields(Cells& cells, const OpResult& op, const OpResult& baseline,
                              const Scale& scale) {
    if (!op.activity) return cells.empty(3 + kActivityCounts.size() + 2 * kTrafficCounts.size());
    const Activity& activity = *op.activity;
    const auto count = [&](std::int64_t value, double by) { cells.number(static_cast<double>(value) * by); };
    cells.text(bound_name(activity.bound));
    if (baseline.activity) {
      cells.text(bound_name(baseline.activity->bound));
      count(baseline.activity->compute_cycles, scale.samples);
    } else {
      cells.empty(2);
    }
    for (const auto& [name, field] : kActivityCounts) {
      const bool once = field == &Activity::fill_cycles;  // the first and the last block of the batch
      count(activity.*field, once ? scale.batch : scale.samples);
    }
    for (const auto& [name, field] : kTrafficCounts) count(activity.samples.*field, scale.samples);
    for (const auto& [name, field] : kTrafficCounts) count(activity.weights.*field, scale.batch);
  }

  const std::vector<RunResult>& runs_;
  const std::vector<RunEnergy>& energies_;
  CsvBasis basis_;
  std::vector<std::string> counters_;
  bool activity_;
  EnergyColumns energy_;
};

}  // namespace

std::string results_to_csv(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                           CsvBasis basis) {
  return CsvWriter(runs, energies, basis).write();
}

}  // namespace lacuna
