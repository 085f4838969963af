// Energy and area as tables for a person.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/version.hpp"
#include "report/energy_report.hpp"
#include "report/json_text.hpp"
#include "report/result_tables.hpp"

namespace lacuna {
namespace {

std::string component_title(Component component) {
  switch (component) {
    case Component::kCores:
      return "compute cores";
    case Component::kTransposers:
      return "transposers";
    case Component::kSchedulersAndBMuxes:
      return "schedulers and B muxes";
    case Component::kAMuxes:
      return "A muxes";
    case Component::kZeroCounters:
      return "zero counters";
    case Component::kScratchpads:
      return "scratchpads";
    case Component::kSram:
      return "AM, BM, CM";
    case Component::kDram:
      return "DRAM";
    case Component::kDramStatic:
      return "DRAM, static";
  }
  return "";
}

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
      models.push_back({runs[i].info.model, runs[i].arch, energies[i].table, energies[i].node_nm, {}, {}});
      at = models.end() - 1;
    }
    at->all += energies[i].all;
    at->runs.push_back(i);
  }
  return models;
}

std::string component_table(const ModelEnergy& model, const TextStyle& style) {
  TextTable table({{"component", Align::kLeft},
                   {"mJ", Align::kRight, "without skipping"},
                   {"share", Align::kRight, "without skipping"},
                   {"mJ", Align::kRight, model.arch},
                   {"share", Align::kRight, model.arch},
                   {"less by", Align::kRight, "efficiency"}});
  const ByComponent& dense = model.all.dense;
  const ByComponent& machine = model.all.machine;
  const auto row = [&](std::string name, double a, double b, bool ratio) {
    table.add_row({std::move(name), millijoules(a), share(a, dense.total()), millijoules(b),
                   share(b, machine.total()), ratio && b > 0 ? efficiency(a / b) : "-"});
  };
  for (std::size_t i = 0; i < kComponents; ++i) {
    const auto component = static_cast<Component>(i);
    if (dense.parts[i] == 0 && machine.parts[i] == 0) continue;
    row(component_title(component), dense.parts[i], machine.parts[i], dense.parts[i] > 0);
  }
  table.add_rule();
  row("compute", dense.compute(), machine.compute(), true);
  row("on-chip memory", dense.group(ComponentGroup::kSram), machine.group(ComponentGroup::kSram), true);
  row("off-chip memory", dense.group(ComponentGroup::kDram), machine.group(ComponentGroup::kDram), true);
  row("whole chip and DRAM", dense.total(), machine.total(), true);
  return table.render(style);
}

std::string layer_energy_table(const RunEnergy& energy, const std::string& arch, const TextStyle& style) {
  TextTable table({{"layer", Align::kLeft},
                   {"operation", Align::kLeft},
                   {"without skipping, mJ"},
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
                   {"core", Align::kRight, "shares without skipping"},
                   {"SRAM", Align::kRight, "shares without skipping"},
                   {"DRAM", Align::kRight, "shares without skipping"},
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

std::string area_text(const std::string& name, const TileHardware& hardware, const CostTable& table,
                      const TextStyle& style) {
  const ChipParts machine = chip_parts(hardware);
  const ChipParts dense = chip_parts(without_skipping(hardware));
  const ByComponent area = area_mm2(machine, table);
  const ByComponent dense_area = area_mm2(dense, table);
  const ByComponent power = logic_watts(machine, table);
  const ByComponent dense_power = logic_watts(dense, table);
  TextTable rows({{"component", Align::kLeft},
                  {name, Align::kRight, "area, mm2"},
                  {"without skipping", Align::kRight, "area, mm2"},
                  {name, Align::kRight, "power, mW"},
                  {"without skipping", Align::kRight, "power, mW"}});
  const auto mm2 = [](double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; };
  const auto mw = [](double value) { return value > 0 ? fmt::format("{:.1f}", value * 1e3) : "-"; };
  const auto ratio = [](double a, double b) { return b > 0 ? fmt::format("{:.4f}x", a / b) : "-"; };
  for (const Component part :
       {Component::kCores, Component::kTransposers, Component::kSchedulersAndBMuxes, Component::kAMuxes}) {
    rows.add_row({component_title(part), mm2(area.of(part)), mm2(dense_area.of(part)), mw(power.of(part)),
                  mw(dense_power.of(part))});
  }
  rows.add_rule();
  rows.add_row({"compute", mm2(area.compute()), mm2(dense_area.compute()), mw(power.total()),
                mw(dense_power.total())});
  rows.add_row({"against without skipping", ratio(area.compute(), dense_area.compute()), "",
                ratio(power.total(), dense_power.total()), ""});
  rows.add_rule();
  for (const Component part : {Component::kScratchpads, Component::kSram}) {
    rows.add_row({component_title(part), mm2(area.of(part)), mm2(dense_area.of(part)), "", ""});
  }
  rows.add_row({"whole chip", mm2(area.total()), mm2(dense_area.total()), "", ""});
  rows.add_row({"against without skipping", ratio(area.total(), dense_area.total()), "", "", ""});
  return fmt::format(
      "{}\n{}",
      bold_text(fmt::format("{}: {} tiles of {} x {} PEs of {} MACs, {} at {} nm, {} MHz", name,
                            hardware.tiles, hardware.rows, hardware.columns, hardware.lanes,
                            printable(table.name), table.node_nm, hardware.frequency_mhz),
                style),
      rows.render(style));
}

std::string area_json(const std::string& name, const TileHardware& hardware, const CostTable& table) {
  const auto parts = [](const ByComponent& values) {
    JsonLine line;
    for (std::size_t i = 0; i < kComponents; ++i) {
      line.field(component_name(static_cast<Component>(i)), values.parts[i]);
    }
    return line.field("compute", values.compute()).field("total", values.total()).text();
  };
  const auto machine = [&](const TileHardware& of) {
    const ChipParts chip = chip_parts(of);
    return JsonLine()
        .raw("area_mm2", parts(area_mm2(chip, table)))
        .raw("logic_power_w", parts(logic_watts(chip, table)))
        .text();
  };
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"lacuna\": {},\n  \"name\": {},\n  \"table\": {},\n  \"node_nm\": {},\n  "
      "\"machine\": "
      "{},\n  \"dense\": {}\n}}\n",
      json_string(version()), json_string(name), json_string(table.name), json_number(table.node_nm),
      machine(hardware), machine(without_skipping(hardware)));
}

}  // namespace lacuna
