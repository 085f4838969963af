#include "report/result/result_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/text/csv.hpp"
#include "report/study/coverage.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

// Names in the order in which they first occur.
void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// Counters differ from machine to machine: each gets a column.
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

// Factors from what is recorded of a layer, or is once per batch, to the basis of the file.
struct Scale {
  double samples;
  double batch;

  Scale(CsvBasis basis, double batch_scale)
      : samples(basis == CsvBasis::kBatch ? batch_scale : 1),
        batch(basis == CsvBasis::kBatch ? 1 : 1 / batch_scale) {}

  double of(FieldScope scope) const { return scope == FieldScope::kBatch ? batch : samples; }
};

// Adds a cell: a count at the basis of the file, a ratio or a word as it is.
void add_value(CsvRow& row, const FieldValue& value, double scale) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    row.number(static_cast<double>(*count) * scale);
  } else if (const auto* ratio = std::get_if<double>(&value)) {
    row.number(*ratio);
  } else if (const auto* word = std::get_if<std::string_view>(&value)) {
    row.text(*word);
  } else {
    row.empty();
  }
}

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

  void header(CsvRow& cells, std::string_view per) const {
    cells.text("energy_table");
    cells.text("energy_node_nm");
    const auto side = [&](std::string_view name, const std::vector<std::string>& components) {
      for (const std::string& component : components)
        cells.text(fmt::format("energy_{}_{}_joules{}", name, component, per));
      cells.text(fmt::format("energy_{}_total_joules{}", name, per));
    };
    side("baseline", baseline_);
    side("machine", machine_);
    for (const EnergyField& field : kEnergyFields) cells.text(fmt::format("energy_{}", field.name));
    for (const char* name : {"power_baseline_average_watts_of_step", "power_machine_average_watts_of_step",
                             "power_machine_peak_watts_of_logic", "area_table", "area_node_nm",
                             "area_baseline_mm2_of_chip", "area_machine_mm2_of_chip"})
      cells.text(name);
  }

  void fields(CsvRow& cells, const RunEnergy& energy, std::size_t layer, std::size_t op, double scale) const {
    if (energy.layers.empty()) {
      cells.empty(11 + kEnergyFields.size() + baseline_.size() + machine_.size());
      return;
    }
    const EnergyComparison& pair = energy.layers[layer].ops[op].energy;
    cells.text(energy.table);
    cells.number(energy.node_nm);
    side_fields(cells, pair.baseline, baseline_, scale);
    side_fields(cells, pair.machine, machine_, scale);
    for (const EnergyField& field : kEnergyFields) add_value(cells, field.get(pair), 1);
    cells.number(energy.baseline_watts());
    cells.number(energy.machine_watts());
    if (!energy.area) {
      cells.empty(5);
      return;
    }
    const RunArea& area = *energy.area;
    const auto known = [&](bool is, double value) { is ? cells.number(value) : cells.empty(); };
    known(area.machine.peak_watts > 0, area.machine.peak_watts);
    cells.text(area.table);
    cells.number(area.node_nm);
    known(area.baseline.has_value(), area.baseline ? area.baseline->total_mm2 : 0);
    cells.number(area.machine.total_mm2);
  }

 private:
  static void side_fields(CsvRow& cells, const ByComponent& parts, const std::vector<std::string>& components,
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
    CsvRow cells;
    const auto count = [&](std::string_view prefix, std::string_view name) {
      cells.text(fmt::format("{}{}{}", prefix, name, per));
    };
    for (const char* name : {"trace", "model", "progress", "recorded_share", "left_out", "arch", "engine",
                             "layer", "shape", "batch", "batch_scale"})
      cells.text(name);
    for (const OpField& field : kOpFields) {
      if (of_activity(field)) continue;
      if (field.name == op_field("baseline_cycles").name) cells.text("baseline");
      if (field.kind == FieldKind::kCounters) {
        // A prefix, as the JSON has them in a separate object: machines name counters freely.
        for (const std::string& name : counters_) count("counter_", name);
      } else if (field.kind == FieldKind::kCount) {
        count("", field.name);
      } else {
        cells.text(field.name);
      }
    }
    if (activity_) {
      for (const ActivityField& field : kActivityFields) {
        if (field.kind == FieldKind::kWord) {
          cells.text(field.name);
          cells.text("baseline_bound");
          count("", "baseline_compute_cycles");
        } else {
          count("activity_", field.name);
        }
      }
    }
    if (energy_.any()) energy_.header(cells, per);
    return cells.line();
  }

  std::string row(std::size_t r, std::size_t l, std::size_t o) const {
    const RunResult& run = runs_[r];
    const LayerResult& layer = run.layers[l];
    const OpView op{layer.ops[o], run.baseline_op(l, o)};
    const Scale scale(basis_, layer.batch_scale);
    CsvRow cells;
    cells.text(run.trace).text(run.info.model).number(run.info.progress);
    append_coverage(cells, run.info);
    for (const std::string& name : {run.arch, run.engine, layer.name, layer.shape}) cells.text(name);
    cells.number(run.batch).number(layer.batch_scale);
    for (const OpField& field : kOpFields) {
      if (of_activity(field)) continue;
      if (field.name == op_field("baseline_cycles").name) cells.text(run.compared_with().arch);
      if (field.kind == FieldKind::kCounters) {
        counter_cells(cells, op.machine, scale);
      } else {
        add_value(cells, field.get(op), scale.of(field.scope));
      }
    }
    if (activity_) activity_cells(cells, op, scale);
    if (energy_.any()) energy_.fields(cells, energies_[r], l, o, scale.batch);
    return cells.line();
  }

  // The activity and what it says of the baseline are columns at the end, if any machine has one.
  static bool of_activity(const OpField& field) {
    return field.kind == FieldKind::kActivity || field.name == op_field("baseline_compute_cycles").name ||
           field.name == op_field("baseline_bound").name;
  }

  void counter_cells(CsvRow& cells, const OpResult& op, const Scale& scale) const {
    for (const std::string& name : counters_) {
      const auto at = std::ranges::find(op.counters, name, &Counter::name);
      if (at == op.counters.end()) {
        cells.empty();
      } else {
        cells.number(static_cast<double>(at->value) * (at->once ? scale.batch : scale.samples));
      }
    }
  }

  static void activity_cells(CsvRow& cells, const OpView& op, const Scale& scale) {
    if (!op.machine.activity) {
      cells.empty(2 + kActivityFields.size());
      return;
    }
    for (const ActivityField& field : kActivityFields) {
      add_value(cells, field.get(*op.machine.activity), scale.of(field.scope));
      if (field.kind != FieldKind::kWord) continue;
      add_value(cells, op_field("baseline_bound").get(op), 1);
      add_value(cells, op_field("baseline_compute_cycles").get(op), scale.samples);
    }
  }

  const std::vector<RunResult>& runs_;
  const std::vector<RunEnergy>& energies_;
  CsvBasis basis_;
  std::vector<std::string> counters_;
  bool activity_;
  EnergyColumns energy_;
};

}  // namespace

std::string results_to_csv(const SimulationOutcome& outcome, CsvBasis basis) {
  return CsvWriter(outcome.runs, outcome.energies, basis).write();
}

}  // namespace lacuna
