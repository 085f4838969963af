#include "report/energy/energy_report.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "report/energy/area_report.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"

namespace lacuna {
namespace {

Component component(std::string name, ComponentGroup group, Part part) {
  return {name, "the " + name, group, {std::move(part)}};
}

Hardware toy(bool skips) {
  Hardware hardware{.description = "a toy",
                    .data_type = "fp32",
                    .frequency_mhz = 500,
                    .components = {component("logic", ComponentGroup::kCore, {"adder", 10, {"cycle"}}),
                                   component("ram", ComponentGroup::kSram, {"bank", 2, {"read"}}),
                                   component("bus", ComponentGroup::kDram, {"wire", 0, {"bit"}})}};
  if (skips) {
    hardware.components.push_back(component("skipper", ComponentGroup::kCore, {"mux", 5, {"cycle"}}));
  } else {
    hardware.components.push_back(component("filler", ComponentGroup::kCore, {"mux", 1, {"cycle"}}));
  }
  return hardware;
}

CostTable table() {
  const auto cost = [](double value, const char* unit) { return Cost{value, unit, "s", Confidence::kHigh}; };
  return {.name = "prices",
          .summary = "",
          .node_nm = 65,
          .data_type = "fp32",
          .notes = {"mind the gap"},
          .parts = {{"adder", Scaling::kLogic, {{"cycle", cost(2, "pJ")}, {"area", cost(3, "mm2")}}},
                    {"mux", Scaling::kLogic, {{"cycle", cost(1, "pJ")}, {"area", cost(0.5, "mm2")}}},
                    {"bank", Scaling::kSram, {{"read", cost(4, "pJ")}, {"area", cost(7, "mm2")}}},
                    {"wire", Scaling::kNone, {{"bit", cost(8, "pJ")}}}}};
}

OpResult op(std::int64_t cycles, const char* skips, double clocked) {
  OpResult result{.op = Operation::kForward, .macs = 9, .cycles = cycles, .counters = {}};
  result.activity.emplace();
  result.activity->compute_cycles = cycles / 2;
  result.activity->bound = Bound::kDram;
  result.actions = {{"logic", "adder", "cycle", clocked},
                    {"ram", "bank", "read", 30},
                    {"bus", "wire", "bit", 100},
                    {skips, "mux", "cycle", clocked / 2}};
  return result;
}

RunResult run(const char* arch, bool skips, std::int64_t cycles, double clocked) {
  RunResult result;
  result.trace = "a.safetensors";
  result.info.model = "model";
  result.batch = 64;
  result.arch = result.base = arch;
  result.engine = "fast";
  result.hardware = toy(skips);
  const char* mux = skips ? "skipper" : "filler";
  result.layers = {{"first", "shape", 32, {op(cycles, mux, clocked)}},
                   {"second", "shape", 16, {op(2 * cycles, mux, 3 * clocked)}}};
  return result;
}

// Two layers with made-up counts, compared with a baseline that takes twice as long.
RunResult example() {
  RunResult result = run("toy", true, 500, 400);
  result.baseline = std::make_shared<RunResult>(run("plain", false, 1000, 1000));
  return result;
}

TEST(RunEnergy, IsTheSumOfItsPartsAtEveryLevel) {
  const RunEnergy energy = run_energy(example(), table());
  EnergyComparison layers;
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& of_op : layer.ops) layers += of_op.energy;
  }
  EXPECT_EQ(layers.machine, energy.all.machine);
  EXPECT_EQ(layers.baseline, energy.all.baseline);
  const EnergyComparison& first = energy.layers[0].ops[0].energy;
  EXPECT_DOUBLE_EQ(first.machine.of("logic"), 800e-12);
  EXPECT_DOUBLE_EQ(first.machine.of("skipper"), 200e-12);
  EXPECT_DOUBLE_EQ(first.baseline.of("filler"), 500e-12);
  EXPECT_DOUBLE_EQ(first.machine.total(), (800 + 200 + 120 + 800) * 1e-12);
  EXPECT_DOUBLE_EQ(first.compute_efficiency(), 2500.0 / 1000);
}

// The energy without zeros divides the efficiency as the cycles divide the speedup.
TEST(RunEnergy, EfficiencyFromZeros) {
  RunResult of = example();
  for (LayerResult& layer : of.layers) {
    layer.ops[0].actions_without_zeros = layer.ops[0].actions;
    for (ActionCount& action : layer.ops[0].actions_without_zeros) {
      if (action.action == "cycle") action.count *= 1.5;
    }
  }
  const RunEnergy energy = run_energy(of, table());
  const EnergyComparison& first = energy.layers[0].ops[0].energy;
  EXPECT_DOUBLE_EQ(first.compute_without_zeros, 1500e-12);
  EXPECT_DOUBLE_EQ(first.compute_efficiency_from_zeros(), 1.5);
  EXPECT_DOUBLE_EQ(first.chip_without_zeros, (1500 + 120 + 800) * 1e-12);
  EXPECT_DOUBLE_EQ(energy.all.compute_efficiency_from_zeros(), 1.5);
  EXPECT_DOUBLE_EQ(energy.all.chip_efficiency_from_zeros() * energy.all.chip_efficiency_without_zeros(),
                   energy.all.chip_efficiency());
  of.info.left_out = {{"rnn", "LSTM", 5}};
  of.info.recorded_share = 0.74;
  const std::string text = energy_tables({of}, {energy}, true, {});
  EXPECT_NE(text.find("energy of a batch, of 74 % of the network"), std::string::npos) << text;
  EXPECT_NE(text.find("whole chip and DRAM, of 74 % of the network"), std::string::npos) << text;
  EXPECT_NE(text.find("'from zeros': energy of the machine"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: toy: its energy efficiency of"), std::string::npos) << text;
  const Json json = energy_json(energy, false);
  EXPECT_EQ(json["all"]["compute_efficiency_from_zeros"], 1.5);
  // It may take more than its baseline without zeros, and less than with them.
  for (const double factor : {100.0, 0.01}) {
    RunResult odd = of;
    for (ActionCount& action : odd.layers[0].ops[0].actions_without_zeros) action.count *= factor;
    const EnergyComparison pair = run_energy(odd, table()).layers[0].ops[0].energy;
    EXPECT_DOUBLE_EQ(pair.chip_without_zeros, factor * first.chip_without_zeros);
  }
  // Not asked for: not known.
  EXPECT_TRUE(std::isnan(run_energy(example(), table()).all.chip_efficiency_from_zeros()));
  EXPECT_TRUE(
      energy_json(run_energy(example(), table()), false)["all"]["chip_efficiency_from_zeros"].is_null());
}

TEST(RunEnergy, TableOfAnotherDataTypeIsRefused) {
  CostTable other = table();
  other.data_type = "bfloat16";
  EXPECT_THROW(run_energy(example(), other), InputError);
}

TEST(RunEnergy, JsonHoldsWhateverComponentsTheRunLists) {
  const std::vector<RunResult> runs{example()};
  const std::vector<RunEnergy> energies{run_energy(runs[0], table())};
  const std::string text = results_to_json({runs, energies}, true);
  const auto json = nlohmann::json::parse(text);
  const auto& energy = json["runs"][0]["energy"];
  EXPECT_EQ(energy["all"]["machine"]["total"].get<double>(), energies[0].all.machine.total());
  EXPECT_EQ(energy["all"]["machine"]["skipper"].get<double>(), energies[0].all.machine.of("skipper"));
  EXPECT_FALSE(energy["all"]["machine"].contains("filler"));
  EXPECT_EQ(energy["all"]["baseline"]["filler"].get<double>(), energies[0].all.baseline.of("filler"));
  EXPECT_EQ(energy["operations"].size(), 2);
  EXPECT_FALSE(
      nlohmann::json::parse(results_to_json({runs, energies}))["runs"][0]["energy"].contains("operations"));
  EXPECT_FALSE(nlohmann::json::parse(results_to_json({runs}))["runs"][0].contains("energy"));
  const auto& of_op = json["runs"][0]["layers"][0]["ops"][0];
  EXPECT_EQ(of_op["activity"]["bound"], "dram");
  EXPECT_EQ(of_op["baseline_compute_cycles"], 500);
  EXPECT_EQ(of_op["baseline_bound"], "dram");
}

TEST(RunEnergy, ReadsBackFromJson) {
  std::vector<RunResult> runs{example()};
  for (LayerResult& layer : runs[0].layers)
    for (OpResult& each : layer.ops) each.cycles_without_zeros = each.cycles;
  const std::vector<RunEnergy> energies{run_energy(runs[0], table())};
  const std::string text = results_to_json({runs, energies}, true);
  const ResultFile read = parse_results_json(text, "a.json");
  OpResult written = runs[0].layers[0].ops[0];
  written.actions.clear();  // not part of the file
  EXPECT_EQ(read.runs[0].layers[0].ops[0], written);
  ASSERT_TRUE(read.energies.at(0).has_value());
  EXPECT_EQ(read.energies[0]->table, table().name);
  EXPECT_EQ(read.energies[0]->all.machine, energies[0].all.machine.total());
  EXPECT_EQ(read.energies[0]->by_operation[Operation::kForward].baseline,
            energies[0].by_operation[Operation::kForward].baseline.total());
  EXPECT_FALSE(parse_results_json(results_to_json({runs}), "a.json").energies.at(0).has_value());
  auto broken = nlohmann::json::parse(text);
  broken["runs"][0]["energy"]["all"]["machine"]["total"] = -1;
  EXPECT_THROW(parse_results_json(broken.dump(), "a.json"), InputError);
  broken["runs"][0]["energy"]["all"] = 3;
  EXPECT_THROW(parse_results_json(broken.dump(), "a.json"), InputError);
}

std::vector<std::vector<std::string>> csv_cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back(1);
    for (const char c : line) {
      if (c == ',') {
        rows.back().emplace_back();
      } else {
        rows.back().back() += c;
      }
    }
  }
  return rows;
}

TEST(RunEnergy, CsvHasAColumnForEveryComponentOfEitherSide) {
  std::vector<RunResult> runs{example(), example()};
  runs[1].hardware.reset();
  const std::vector<RunEnergy> energies{run_energy(runs[0], table()), RunEnergy{}};
  const auto rows = csv_cells(results_to_csv({runs, energies}));
  const auto cell = [&](std::size_t row, const std::string& name) {
    const auto at = std::ranges::find(rows[0], name);
    EXPECT_NE(at, rows[0].end()) << name;
    return rows[row][static_cast<std::size_t>(at - rows[0].begin())];
  };
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const EnergyComparison& pair = energies[0].layers[layer].ops[0].energy;
    EXPECT_EQ(cell(layer + 1, "energy_table"), "prices");
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_machine_skipper_joules_per_batch")),
              pair.machine.of("skipper"));
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_baseline_filler_joules_per_batch")),
              pair.baseline.of("filler"));
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_machine_total_joules_per_batch")), pair.machine.total());
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_chip_efficiency")), pair.chip_efficiency());
    EXPECT_EQ(cell(layer + 1, "baseline"), "plain");
  }
  EXPECT_EQ(cell(1, "bound"), "dram");
  EXPECT_EQ(cell(1, "baseline_compute_cycles_per_batch"), "16000");  // 500 x 32
  EXPECT_EQ(cell(3, "energy_table"), "");                            // a machine without costs
  EXPECT_EQ(cell(4, "energy_machine_total_joules_per_batch"), "");
  // On the other basis joules and cycles are of the samples recorded.
  const auto recorded = csv_cells(results_to_csv({runs, energies}, CsvBasis::kRecorded));
  const auto joules = std::ranges::find(recorded[0], "energy_machine_total_joules_as_recorded");
  ASSERT_NE(joules, recorded[0].end());
  EXPECT_EQ(std::stod(recorded[1][static_cast<std::size_t>(joules - recorded[0].begin())]),
            energies[0].layers[0].ops[0].energy.machine.total() / 32);
  EXPECT_EQ(results_to_csv({runs}).find("energy"), std::string::npos);
  EXPECT_EQ(results_to_csv({runs, {RunEnergy{}, RunEnergy{}}}), results_to_csv({runs}));
}

TEST(RunEnergy, AreaAndPowerInCsvAndTables) {
  const std::vector<RunResult> runs{example()};
  std::vector<RunEnergy> energies{run_energy(runs[0], table())};
  // 32 x 500 + 16 x 1000 cycles at 500 MHz.
  EXPECT_DOUBLE_EQ(energies[0].machine_seconds, 32000 / 500e6);
  EXPECT_DOUBLE_EQ(energies[0].baseline_seconds, 64000 / 500e6);
  energies[0].area = RunArea{"prices", 65, {3, 46.5, 0.0125}, MachineArea{2, 44.5, 0.01}};
  const auto rows = csv_cells(results_to_csv({runs, energies}));
  const auto cell = [&](const std::string& name) {
    const auto at = std::ranges::find(rows[0], name);
    return at == rows[0].end() ? "no " + name : rows[1][static_cast<std::size_t>(at - rows[0].begin())];
  };
  EXPECT_EQ(cell("area_machine_mm2_of_chip"), "46.5");
  EXPECT_EQ(cell("area_baseline_mm2_of_chip"), "44.5");
  EXPECT_EQ(cell("power_machine_peak_watts_of_logic"), "0.0125");
  EXPECT_DOUBLE_EQ(std::stod(cell("power_machine_average_watts_of_step")), energies[0].machine_watts());
  const std::string text = energy_tables(runs, energies, false, {});
  EXPECT_NE(text.find("model: area and power"), std::string::npos) << text;
  EXPECT_NE(text.find("46.50"), std::string::npos) << text;
}

TEST(RunEnergy, TablesListTheComponentsAndSayWhatHasNoCosts) {
  std::vector<RunResult> runs{example(), example()};
  runs[1].arch = "other";
  runs[1].hardware.reset();
  EXPECT_FALSE(has_energy(runs[1]));
  const std::string text = energy_tables(runs, {run_energy(runs[0], table()), RunEnergy{}}, true, {});
  for (const char* part : {"the logic", "the skipper", "the filler", "baseline: plain", "whole chip and DRAM",
                           "other: this machine has no energy model"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Area, ListsComponentsOfBothMachinesWithSourcesAndNotes) {
  const Hardware machine = toy(true), baseline = toy(false);
  const CostTable prices = table();
  const AreaOf other{"plain", baseline, prices};
  const AreaOf of{"toy", machine, prices, std::make_shared<AreaOf>(other)};
  const std::string text = area_text(of, {});
  for (const char* part : {"toy: a toy, prices at 65 nm, 500 MHz", "the skipper", "2.500", "30.000", "14.000",
                           "relative to the baseline", "mind the gap"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = nlohmann::json::parse(areas_json({of, other}))["machines"];
  EXPECT_DOUBLE_EQ(json[0]["area_mm2"]["total"].get<double>(), 30 + 14 + 2.5);
  EXPECT_DOUBLE_EQ(json[0]["peak_power_w"]["compute"].get<double>(), (20 + 5) * 1e-12 * 500e6);
  EXPECT_DOUBLE_EQ(json[0]["baseline"]["area_mm2"]["filler"].get<double>(), 0.5);
  EXPECT_EQ(json[0]["sources"]["ram"], "s (H)");
  EXPECT_EQ(json[1]["name"], "plain");
  EXPECT_TRUE(json[1]["baseline"].is_null());
  const std::string both = areas_text({of, other}, {});
  for (const char* part : {"the skipper", "the filler", "toy: a toy", "plain: a toy", "mind the gap"}) {
    EXPECT_NE(both.find(part), std::string::npos) << part << "\n" << both;
  }
}

}  // namespace
}  // namespace lacuna
