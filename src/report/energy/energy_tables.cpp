// Energy as tables for a person.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "report/energy/energy_report.hpp"
#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

std::string millijoules(double joules) { return fmt::format("{:.3f}", joules * 1e3); }
std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}
// Three digits: the differences of a model without zeros are in the third.
std::string efficiency(double value) { return value > 0 ? fmt::format("{:.3f}", value) : "-"; }

// The machine that another is compared with; itself if it is its own baseline.
std::string baseline_title(const RunResult& run) {
  return run.baseline ? fmt::format("baseline: {}", run.baseline->arch) : "baseline: itself";
}

// The traces of one model on one machine, summed.
struct ModelEnergy {
  std::string model;
  std::string arch;
  std::string table;
  double node_nm = 65;
  std::string baseline;
  EnergyComparison all;
  std::vector<std::size_t> runs;
  std::string coverage;  // ", of 74 % of the network"
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
                        baseline_title(runs[i]),
                        {},
                        {},
                        total_coverage(runs[i].info)});
      at = models.end() - 1;
    }
    at->all += energies[i].all;
    at->runs.push_back(i);
  }
  return models;
}

std::string component_table(const ModelEnergy& model, const TextStyle& style) {
  TextTable table(
      with_groups({{"component", Align::kLeft}}, {{model.baseline, {"mJ", "share"}},
                                                  {model.arch, {"mJ", "share"}},
                                                  {"efficiency", {"from zeros", "without zeros", "all"}}}));
  const ByComponent& baseline = model.all.baseline;
  const ByComponent& machine = model.all.machine;
  const auto row = [&](const std::string& name, const std::optional<double>& a,
                       const std::optional<double>& b, const std::optional<double>& without_zeros = {}) {
    const bool both = a.value_or(0) > 0 && b.value_or(0) > 0;
    table.add_row(
        {name, a ? millijoules(*a) : "-", a ? share(*a, baseline.total()) : "-", b ? millijoules(*b) : "-",
         b ? share(*b, machine.total()) : "-", both && without_zeros ? efficiency(*without_zeros / *b) : "-",
         both && without_zeros ? efficiency(*a / *without_zeros) : "-", both ? efficiency(*a / *b) : "-"});
  };
  const auto value_in = [](const ByComponent& parts, const std::string& name) -> std::optional<double> {
    const ByComponent::Value* part = parts.find(name);
    return part == nullptr ? std::nullopt : std::optional(part->value);
  };
  const auto component_row = [&](const ByComponent::Value& part) {
    const auto a = value_in(baseline, part.name), b = value_in(machine, part.name);
    if (a.value_or(0) > 0 || b.value_or(0) > 0) row(part.title, a, b);
  };
  // Components that only the baseline has, then the machine's.
  for (const ByComponent::Value& part : baseline.values) {
    if (machine.find(part.name) == nullptr) component_row(part);
  }
  for (const ByComponent::Value& part : machine.values) component_row(part);
  table.add_rule();
  row("compute", baseline.compute(), machine.compute(), model.all.compute_without_zeros);
  row("on-chip memory", baseline.group(ComponentGroup::kSram), machine.group(ComponentGroup::kSram));
  row("off-chip memory", baseline.group(ComponentGroup::kDram), machine.group(ComponentGroup::kDram));
  row("whole chip and DRAM" + model.coverage, baseline.total(), machine.total(),
      model.all.chip_without_zeros);
  return table.render(style);
}

std::string layer_energy_table(const RunResult& run, const RunEnergy& energy, const TextStyle& style) {
  TextTable table(with_groups(
      {{"layer", Align::kLeft}, {"operation", Align::kLeft}},
      {{baseline_title(run), {"mJ"}},
       {run.arch, {"mJ", "compute", "on-chip", "off-chip", "compute eff.", "chip eff.", "from zeros"}}}));
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& op : layer.ops) {
      const ByComponent& m = op.energy.machine;
      table.add_row({&op == layer.ops.data() ? printable(layer.name) : "", std::string(operation_name(op.op)),
                     millijoules(op.energy.baseline.total()), millijoules(m.total()),
                     millijoules(m.compute()), millijoules(m.group(ComponentGroup::kSram)),
                     millijoules(m.group(ComponentGroup::kDram)), efficiency(op.energy.compute_efficiency()),
                     efficiency(op.energy.chip_efficiency()),
                     efficiency(op.energy.chip_efficiency_from_zeros())});
    }
  }
  return table.render(style);
}

std::string all_models_table(const std::vector<ModelEnergy>& models, const TextStyle& style) {
  TextTable table(with_groups({{"model", Align::kLeft}, {"machine", Align::kLeft}},
                              {{"from zeros", {"compute", "whole chip"}},
                               {"efficiency", {"compute", "whole chip"}},
                               {"shares, baseline", {"core", "SRAM", "DRAM"}},
                               {"shares, machine", {"core", "SRAM", "DRAM"}}}));
  std::vector<std::string> archs;
  for (const ModelEnergy& model : models) {
    if (std::ranges::find(archs, model.arch) == archs.end()) archs.push_back(model.arch);
  }
  for (const std::string& arch : archs) {
    std::array<double, 4> sums{}, logs{};
    int count = 0;
    for (const ModelEnergy& model : models) {
      if (model.arch != arch) continue;
      const std::array<double, 4> of_model = {model.all.compute_efficiency_from_zeros(),
                                              model.all.chip_efficiency_from_zeros(),
                                              model.all.compute_efficiency(), model.all.chip_efficiency()};
      std::vector<std::string> cells{printable(model.model) + model.coverage, arch};
      for (std::size_t i = 0; i < of_model.size(); ++i) {
        cells.push_back(efficiency(of_model[i]));
        sums[i] += of_model[i];
        logs[i] += std::log(of_model[i]);
      }
      for (const ByComponent* of : {&model.all.baseline, &model.all.machine}) {
        for (const ComponentGroup group :
             {ComponentGroup::kCore, ComponentGroup::kSram, ComponentGroup::kDram}) {
          cells.push_back(share(of->group(group), of->total()));
        }
      }
      table.add_row(std::move(cells));
      ++count;
    }
    table.add_rule();
    const auto mean = [&](const char* name, const auto& value) {
      std::vector<std::string> cells{name, arch};
      for (std::size_t i = 0; i < sums.size(); ++i) cells.push_back(efficiency(value(i)));
      cells.resize(cells.size() + 6);
      table.add_row(std::move(cells));
    };
    mean("mean", [&](std::size_t i) { return sums[i] / count; });
    mean("geometric mean", [&](std::size_t i) { return std::exp(logs[i] / count); });
    if (arch != archs.back()) table.add_rule();
  }
  return table.render(style);
}

// Where the efficiency of a model is not what zeros give.
std::string energy_warning(const ModelEnergy& model) {
  const EnergyComparison& all = model.all;
  if (!(all.chip_efficiency_without_zeros() > kWarnWithoutZeros)) return "";
  return fmt::format(
      "\nwarning: {}: its energy efficiency of {}x includes {}x that it has without any zero (empty lanes); "
      "zeros "
      "give {}x\n",
      model.arch, ratio_text(all.chip_efficiency()), ratio_text(all.chip_efficiency_without_zeros()),
      ratio_text(all.chip_efficiency_from_zeros()));
}

// Area and power of the machines that ran a model, one row each.
std::string area_table(const std::vector<ModelEnergy>& models, const std::string& name,
                       const std::vector<RunEnergy>& energies, const TextStyle& style) {
  std::vector<TableColumn> columns = with_groups(
      {{"machine", Align::kLeft}}, {{"area, mm2", {"logic", "whole chip", "baseline", "ratio", "node"}}});
  columns.push_back({"table", Align::kLeft, "area, mm2"});
  TextTable table(
      with_groups(std::move(columns), {{"power, W", {"average", "baseline", "ratio", "peak of the logic"}}}));
  for (const ModelEnergy& model : models) {
    if (model.model != name) continue;
    double seconds = 0, baseline_seconds = 0;
    for (const std::size_t run : model.runs) {
      seconds += energies[run].machine_seconds;
      baseline_seconds += energies[run].baseline_seconds;
    }
    const double watts = model.all.machine.total() / seconds;
    const double baseline_watts = model.all.baseline.total() / baseline_seconds;
    const std::optional<RunArea>& area = energies[model.runs.front()].area;
    std::vector<std::string> cells{model.arch};
    if (area) {
      const auto mm2 = [](double value) { return fmt::format("{:.2f}", value); };
      cells.insert(cells.end(),
                   {mm2(area->machine.compute_mm2), mm2(area->machine.total_mm2),
                    area->baseline ? mm2(area->baseline->total_mm2) : "-",
                    area->baseline ? ratio_text(area->machine.total_mm2, area->baseline->total_mm2) : "-",
                    fmt::format("{} nm", area->node_nm), printable(area->table)});
    } else {
      cells.insert(cells.end(), 6, "-");
    }
    cells.insert(
        cells.end(),
        {fmt::format("{:.2f}", watts), fmt::format("{:.2f}", baseline_watts),
         ratio_text(watts, baseline_watts),
         area && area->machine.peak_watts > 0 ? fmt::format("{:.2f}", area->machine.peak_watts) : "-"});
    table.add_row(std::move(cells));
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
    section(fmt::format("{} on {}: energy of a batch{}, {} at {} nm", printable(model.model), model.arch,
                        model.coverage, printable(model.table), model.node_nm),
            component_table(model, style));
    text += energy_warning(model);
    if (!layers) continue;
    for (const std::size_t run : model.runs) {
      section(fmt::format("{} on {}: energy by layer", trace_title(runs[run].info), model.arch),
              layer_energy_table(runs[run], energies[run], style));
    }
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    const bool first = std::none_of(models.begin(), models.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const ModelEnergy& m) { return m.model == models[i].model; });
    if (!first) continue;
    section(fmt::format("{}: area and power", printable(models[i].model)),
            area_table(models, models[i].model, energies, style));
  }
  if (std::ranges::any_of(models,
                          [&](const ModelEnergy& model) { return model.model != models.front().model; })) {
    section("Energy efficiency of every model", all_models_table(models, style));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!energies[i].layers.empty()) continue;
    const bool said = std::any_of(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const RunResult& run) { return run.arch == runs[i].arch; });
    if (!said) text += fmt::format("\n{}: this machine has no energy model\n", runs[i].arch);
  }
  if (std::ranges::any_of(models,
                          [&](const ModelEnergy& m) { return runs[m.runs.front()].baseline != nullptr; }))
    text += kEnergyLegend;
  return text;
}

}  // namespace lacuna
