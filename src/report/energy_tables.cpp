// Energy as tables for a person.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "report/component_titles.hpp"
#include "report/energy_report.hpp"
#include "report/result_tables.hpp"

namespace lacuna {
namespace {

std::string millijoules(double joules) { return fmt::format("{:.3f}", joules * 1e3); }
std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}
// Three digits: the differences of a model without zeros are in the third.
std::string efficiency(double value) { return value > 0 ? fmt::format("{:.3f}", value) : "-"; }

// The traces of one model on one machine, summed.
struct ModelEnergy {
  std::string model;
  std::string arch;
  std::string table;
  double node_nm = 65;
  MachineKind kind = MachineKind::kTiles;
  EnergyPair all;
  std::vector<std::size_t> runs;
};

std::vector<ModelEnergy> sum_models(const std::vector<RunResult>& runs,
                                    const std::vector<RunEnergy>& energies) {
  std::vector<ModelEnergy> models;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (energies[i].layers.empty()) continue;
    auto at = std::ranges::find_if(models, [&](const ModelEnergy& model) {
      return model.model == runs[i].info.model && model.arch == runs[i].arch;
    });
    if (at == models.end()) {
      models.push_back({runs[i].info.model,
                        runs[i].arch,
                        energies[i].table,
                        energies[i].node_nm,
                        energies[i].kind,
                        {},
                        {}});
      at = models.end() - 1;
    }
    at->all += energies[i].all;
    at->runs.push_back(i);
  }
  return models;
}

// What the machine is compared with.
std::string_view reference_title(MachineKind kind) {
  return kind == MachineKind::kTiles ? "without skipping" : "dense, as many multipliers";
}

std::string component_table(const ModelEnergy& model, const TextStyle& style) {
  const std::string reference(reference_title(model.kind));
  TextTable table({{"component", Align::kLeft},
                   {"mJ", Align::kRight, reference},
                   {"share", Align::kRight, reference},
                   {"mJ", Align::kRight, model.arch},
                   {"share", Align::kRight, model.arch},
                   {"less by", Align::kRight, "efficiency"}});
  const ByComponent& dense = model.all.dense;
  const ByComponent& machine = model.all.machine;
  const auto row = [&](std::string name, double a, double b) {
    table.add_row({std::move(name), millijoules(a), share(a, dense.total()), millijoules(b),
                   share(b, machine.total()), b > 0 ? efficiency(a / b) : "-"});
  };
  const auto rows = [&](MachineKind kind, bool with_shared) {
    for (const Component component : components_of(kind)) {
      const double a = dense.of(component), b = machine.of(component);
      const bool in_dense = has_component(MachineKind::kTiles, component);
      const bool in_machine = has_component(model.kind, component);
      if ((a == 0 && b == 0) || (in_dense && in_machine && !with_shared)) continue;
      table.add_row({std::string(component_title(component)), in_dense ? millijoules(a) : "-",
                     in_dense ? share(a, dense.total()) : "-", in_machine ? millijoules(b) : "-",
                     in_machine ? share(b, machine.total()) : "-", a > 0 && b > 0 ? efficiency(a / b) : "-"});
    }
  };
  if (model.kind != MachineKind::kTiles) rows(MachineKind::kTiles, false);
  rows(model.kind, true);
  table.add_rule();
  row("compute", dense.compute(), machine.compute());
  row("on-chip memory", dense.group(ComponentGroup::kSram), machine.group(ComponentGroup::kSram));
  row("off-chip memory", dense.group(ComponentGroup::kDram), machine.group(ComponentGroup::kDram));
  row("whole chip and DRAM", dense.total(), machine.total());
  return table.render(style);
}

std::string layer_energy_table(const RunEnergy& energy, const std::string& arch, const TextStyle& style) {
  TextTable table({{"layer", Align::kLeft},
                   {"operation", Align::kLeft},
                   {fmt::format("{}, mJ", reference_title(energy.kind))},
                   {"mJ", Align::kRight, arch},
                   {"compute", Align::kRight, arch},
                   {"on-chip", Align::kRight, arch},
                   {"off-chip", Align::kRight, arch},
                   {"compute eff.", Align::kRight, arch},
                   {"chip eff.", Align::kRight, arch}});
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& op : layer.ops) {
      const ByComponent& m = op.energy.machine;
      table.add_row({&op == layer.ops.data() ? printable(layer.name) : "", std::string(operation_name(op.op)),
                     millijoules(op.energy.dense.total()), millijoules(m.total()), millijoules(m.compute()),
                     millijoules(m.group(ComponentGroup::kSram)), millijoules(m.group(ComponentGroup::kDram)),
                     efficiency(op.energy.compute_efficiency()), efficiency(op.energy.chip_efficiency())});
    }
  }
  return table.render(style);
}

std::string all_models_table(const std::vector<ModelEnergy>& models, const TextStyle& style) {
  TextTable table({{"model", Align::kLeft},
                   {"machine", Align::kLeft},
                   {"compute", Align::kRight, "efficiency"},
                   {"whole chip", Align::kRight, "efficiency"},
                   {"core", Align::kRight, "shares without"},
                   {"SRAM", Align::kRight, "shares without"},
                   {"DRAM", Align::kRight, "shares without"},
                   {"core", Align::kRight, "shares with"},
                   {"SRAM", Align::kRight, "shares with"},
                   {"DRAM", Align::kRight, "shares with"}});
  std::vector<std::string> archs;
  for (const ModelEnergy& model : models) {
    if (std::ranges::find(archs, model.arch) == archs.end()) archs.push_back(model.arch);
  }
  for (const std::string& arch : archs) {
    double compute = 0, chip = 0, compute_log = 0, chip_log = 0;
    int count = 0;
    for (const ModelEnergy& model : models) {
      if (model.arch != arch) continue;
      std::vector<std::string> cells{printable(model.model), arch, efficiency(model.all.compute_efficiency()),
                                     efficiency(model.all.chip_efficiency())};
      for (const ByComponent* of : {&model.all.dense, &model.all.machine}) {
        for (const ComponentGroup group :
             {ComponentGroup::kCore, ComponentGroup::kSram, ComponentGroup::kDram}) {
          cells.push_back(share(of->group(group), of->total()));
        }
      }
      table.add_row(std::move(cells));
      compute += model.all.compute_efficiency();
      chip += model.all.chip_efficiency();
      compute_log += std::log(model.all.compute_efficiency());
      chip_log += std::log(model.all.chip_efficiency());
      ++count;
    }
    table.add_rule();
    const auto mean = [&](const char* name, double a, double b) {
      table.add_row({name, arch, efficiency(a), efficiency(b), "", "", "", "", "", ""});
    };
    mean("mean", compute / count, chip / count);
    mean("geometric mean", std::exp(compute_log / count), std::exp(chip_log / count));
    if (arch != archs.back()) table.add_rule();
  }
  return table.render(style);
}

}  // namespace

std::string energy_tables(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies,
                          bool layers, const TextStyle& style) {
  std::string text;
  const auto section = [&](const std::string& title, const std::string& body) {
    text += fmt::format("\n{}\n{}", bold_text(title, style), body);
  };
  const std::vector<ModelEnergy> models = sum_models(runs, energies);
  for (const ModelEnergy& model : models) {
    section(fmt::format("{} on {}: energy of a batch, {} at {} nm", printable(model.model), model.arch,
                        printable(model.table), model.node_nm),
            component_table(model, style));
    if (!layers) continue;
    for (const std::size_t run : model.runs) {
      section(fmt::format("{} on {}: energy by layer", trace_title(runs[run].info), model.arch),
              layer_energy_table(energies[run], model.arch, style));
    }
  }
  if (std::ranges::any_of(models,
                          [&](const ModelEnergy& model) { return model.model != models.front().model; })) {
    section("Energy efficiency of every model", all_models_table(models, style));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!energies[i].layers.empty()) continue;
    const bool said = std::any_of(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const RunResult& run) { return run.arch == runs[i].arch; });
    if (!said) text += fmt::format("\n{}: there is no energy model of this machine\n", runs[i].arch);
  }
  return text;
}

}  // namespace lacuna
