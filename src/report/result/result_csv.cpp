#include "report/result/result_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <string_view>

#include "base/text/csv.hpp"
#include "report/study/coverage.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

// An operation of a run: what a row is of.
struct RowOf {
  const RunResult& run;
  const LayerResult& layer;
  OpView op;
  const RunEnergy* costs;          // null: the run has no energy
  const EnergyComparison* energy;  // of the operation; null: likewise
  // Factors from what is recorded of a layer, or is once per batch, to the basis of the file.
  double samples, batch;

  double scale(FieldScope scope) const { return scope == FieldScope::kBatch ? batch : samples; }
};

using CsvCell = std::variant<std::monostate, double, std::string>;
struct CsvColumn {
  std::string name;
  std::function<CsvCell(const RowOf&)> cell;
};

CsvCell known(const std::optional<double>& value) { return value ? CsvCell(*value) : CsvCell(); }

// A count at the basis of the file, a ratio or a word as it is.
CsvCell scaled(const FieldValue& value, double scale) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count) * scale;
  if (const auto* ratio = std::get_if<double>(&value)) return *ratio;
  if (const auto* word = std::get_if<std::string_view>(&value)) return std::string(*word);
  if (const auto* mapping = std::get_if<const std::vector<MappingChoice>*>(&value))
    return mapping_text(**mapping);
  return {};
}

// Calls use(op) for every operation of the runs.
template <typename Use>
void each_op(const std::vector<RunResult>& runs, const Use& use) {
  for (const RunResult& run : runs) {
    for (const LayerResult& layer : run.layers) std::ranges::for_each(layer.ops, use);
  }
}

// Names in the order in which they first occur.
void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

class CsvColumns {
 public:
  CsvColumns(const SimulationOutcome& outcome, CsvBasis basis)
      : per_(basis == CsvBasis::kBatch ? "_per_batch" : "_as_recorded") {
    add("trace", [](const RowOf& of) { return of.run.trace; });
    add("model", [](const RowOf& of) { return of.run.info.model; });
    add("progress", [](const RowOf& of) { return known(of.run.info.progress); });
    add("recorded_share", [](const RowOf& of) { return known(coverage_share(of.run.info)); });
    add("left_out", [](const RowOf& of) { return static_cast<double>(of.run.info.left_out.size()); });
    add("arch", [](const RowOf& of) { return of.run.arch; });
    add("engine", [](const RowOf& of) { return of.run.engine; });
    add("layer", [](const RowOf& of) { return of.layer.name; });
    add("shape", [](const RowOf& of) { return of.layer.shape; });
    add("batch", [](const RowOf& of) { return static_cast<double>(of.run.batch); });
    add("batch_scale", [](const RowOf& of) { return of.layer.batch_scale; });
    for (const OpField& field : kOpFields) {
      if (is(field, "baseline_cycles"))
        add("baseline", [](const RowOf& of) { return of.run.compared_with().arch; });
      // The activity and what it says of the baseline are columns at the end, if any machine has one.
      if (field.kind == FieldKind::kCounters) {
        add_counters(outcome.runs);
      } else if (field.kind != FieldKind::kActivity && !is(field, "baseline_compute_cycles") &&
                 !is(field, "baseline_bound")) {
        add_op(field);
      }
    }
    add_activity(outcome.runs);
    add_energy(outcome.energies);
  }

  std::string header() const {
    CsvRow row;
    for (const CsvColumn& column : columns_) row.text(column.name);
    return row.line();
  }
  std::string line(const RowOf& of) const {
    CsvRow row;
    for (const CsvColumn& column : columns_) {
      const CsvCell cell = column.cell(of);
      if (const auto* text = std::get_if<std::string>(&cell)) {
        row.text(*text);
      } else if (const auto* number = std::get_if<double>(&cell)) {
        row.number(*number);
      } else {
        row.empty();
      }
    }
    return row.line();
  }

 private:
  static bool is(const OpField& field, std::string_view name) { return field.name == name; }

  void add(std::string name, std::function<CsvCell(const RowOf&)> cell) {
    columns_.push_back({std::move(name), std::move(cell)});
  }

  void add_op(const OpField& field) {
    add(fmt::format("{}{}", field.name, field.kind == FieldKind::kCount ? per_ : ""),
        [&field](const RowOf& of) { return scaled(field.get(of.op), of.scale(field.scope)); });
  }

  // Counters differ from machine to machine: each gets a column, whose name has a prefix, as the JSON has
  // them in a separate object: machines name counters freely.
  void add_counters(const std::vector<RunResult>& runs) {
    std::vector<std::string> names;
    each_op(runs, [&](const OpResult& op) {
      for (const Counter& counter : op.counters) add_name(names, counter.name);
    });
    for (const std::string& name : names) {
      add(fmt::format("counter_{}{}", name, per_), [name](const RowOf& of) -> CsvCell {
        const auto at = std::ranges::find(of.op.machine.counters, name, &Counter::name);
        if (at == of.op.machine.counters.end()) return {};
        return static_cast<double>(at->value) * (at->once ? of.batch : of.samples);
      });
    }
  }

  void add_activity(const std::vector<RunResult>& runs) {
    bool any = false;
    each_op(runs, [&](const OpResult& op) { any |= op.activity.has_value(); });
    if (!any) return;
    const auto add_field = [&](std::string name, std::function<CsvCell(const RowOf&)> cell) {
      add(std::move(name), [cell = std::move(cell)](const RowOf& of) {
        return of.op.machine.activity ? cell(of) : CsvCell();
      });
    };
    for (const ActivityField& field : kActivityFields) {
      const bool word = field.kind == FieldKind::kWord;
      add_field(word ? std::string(field.name) : fmt::format("activity_{}{}", field.name, per_),
                [&field](const RowOf& of) {
                  return scaled(field.get(*of.op.machine.activity), of.scale(field.scope));
                });
      if (!word) continue;
      add_field("baseline_bound",
                [](const RowOf& of) { return scaled(op_field("baseline_bound").get(of.op), 1); });
      add_field("baseline_compute_cycles" + per_, [](const RowOf& of) {
        return scaled(op_field("baseline_compute_cycles").get(of.op), of.samples);
      });
    }
  }

  // Each component that any run lists has a column on its side; those a machine does not have stay empty.
  void add_energy(const std::vector<RunEnergy>& energies) {
    if (std::ranges::all_of(energies, [](const RunEnergy& one) { return one.all.machine.values.empty(); }))
      return;
    const auto add_priced = [&](std::string name, const auto& cell) {
      add(std::move(name), [=](const RowOf& of) { return of.energy == nullptr ? CsvCell() : cell(of); });
    };
    const auto add_side = [&](std::string_view side, ByComponent EnergyComparison::*parts) {
      std::vector<std::string> names;
      for (const RunEnergy& energy : energies) {
        for (const auto& part : (energy.all.*parts).values) add_name(names, part.name);
      }
      for (const std::string& name : names) {
        add_priced(fmt::format("energy_{}_{}_joules{}", side, name, per_), [=](const RowOf& of) -> CsvCell {
          const ByComponent::Value* part = (of.energy->*parts).find(name);
          return part == nullptr ? CsvCell() : part->value * of.batch;
        });
      }
      add_priced(fmt::format("energy_{}_total_joules{}", side, per_),
                 [=](const RowOf& of) -> CsvCell { return (of.energy->*parts).total() * of.batch; });
    };
    const auto add_area = [&](std::string name, const auto& cell) {
      add_priced(std::move(name), [=](const RowOf& of) -> CsvCell {
        return of.costs->area ? CsvCell(cell(*of.costs->area)) : CsvCell();
      });
    };
    add_priced("energy_table", [](const RowOf& of) -> CsvCell { return of.costs->table; });
    add_priced("energy_node_nm", [](const RowOf& of) -> CsvCell { return of.costs->node_nm; });
    add_side("baseline", &EnergyComparison::baseline);
    add_side("machine", &EnergyComparison::machine);
    for (const EnergyField& field : kEnergyFields) {
      add_priced(fmt::format("energy_{}", field.name),
                 [&field](const RowOf& of) { return scaled(field.get(*of.energy), 1); });
    }
    add_priced("power_baseline_average_watts_of_step",
               [](const RowOf& of) -> CsvCell { return of.costs->baseline_watts(); });
    add_priced("power_machine_average_watts_of_step",
               [](const RowOf& of) -> CsvCell { return of.costs->machine_watts(); });
    add_area("power_machine_peak_watts_of_logic", [](const RunArea& area) -> CsvCell {
      return area.machine.peak_watts > 0 ? CsvCell(area.machine.peak_watts) : CsvCell();
    });
    add_area("area_table", [](const RunArea& area) { return area.table; });
    add_area("area_node_nm", [](const RunArea& area) { return area.node_nm; });
    add_area("area_baseline_mm2_of_chip", [](const RunArea& area) {
      return area.baseline ? CsvCell(area.baseline->total_mm2) : CsvCell();
    });
    add_area("area_machine_mm2_of_chip", [](const RunArea& area) { return area.machine.total_mm2; });
  }

  std::string per_;  // ends the names of counts, cycles and joules
  std::vector<CsvColumn> columns_;
};

}  // namespace

std::string results_to_csv(const SimulationOutcome& outcome, CsvBasis basis) {
  const CsvColumns columns(outcome, basis);
  std::string text = columns.header();
  for (std::size_t r = 0; r < outcome.runs.size(); ++r) {
    const RunResult& run = outcome.runs[r];
    const RunEnergy* costs =
        outcome.energies.empty() || outcome.energies[r].layers.empty() ? nullptr : &outcome.energies[r];
    for (std::size_t l = 0; l < run.layers.size(); ++l) {
      const LayerResult& layer = run.layers[l];
      const bool whole = basis == CsvBasis::kBatch;
      for (std::size_t o = 0; o < layer.ops.size(); ++o) {
        text += columns.line({run,
                              layer,
                              {layer.ops[o], run.baseline_op(l, o)},
                              costs,
                              costs == nullptr ? nullptr : &costs->layers[l].ops[o].energy,
                              whole ? layer.batch_scale : 1,
                              whole ? 1 : 1 / layer.batch_scale});
      }
    }
  }
  return text;
}

}  // namespace lacuna
