#include "report/energy_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "report/result_csv.hpp"
#include "report/result_json.hpp"

namespace lacuna {
namespace {

// Two layers with made-up counts; the second is gated.
RunResult example() {
  RunResult run;
  run.trace = "a.safetensors";
  run.info.model = "model";
  run.batch = 64;
  run.arch = "tensordash";
  run.base = "tensordash";
  run.engine = "fast";
  run.hardware = TileHardware{.tiles = 16,
                              .rows = 4,
                              .columns = 4,
                              .lanes = 16,
                              .transposers = 15,
                              .sram_banks = 64,
                              .value_bytes = 4,
                              .frequency_mhz = 500,
                              .mux_inputs = 8,
                              .schedulers_a_tile = 4,
                              .zero_counters = true};
  Activity a;
  a.compute_cycles = 400;
  a.dense_compute_cycles = 1000;
  a.am_reads = 10;
  a.bm_reads = 20;
  a.scratchpad_reads = 300;
  a.scratchpad_writes = 30;
  a.psum_reads = a.psum_writes = 50;
  a.samples = {1000, 2000, 3, 40, 50};
  a.weights = {100, 0, 1, 5, 0};
  a.bound = Bound::kDram;
  OpResult op{Operation::kForward, Scheduled::kA, 9, 9, 9, 1000, 500, 600, {}, a};
  OpResult gated = op;
  gated.scheduled = Scheduled::kNone;
  gated.cycles = gated.dense_cycles;
  gated.activity->compute_cycles = 1000;
  run.layers = {{"first", "shape", 32, {op}}, {"second", "shape", 16, {gated}}};
  return run;
}

CostTable table() { return CostTable::of_data_type("fp32"); }

TEST(RunEnergy, IsTheSumOfItsPartsAtEveryLevel) {
  const RunEnergy energy = run_energy(example(), table());
  EnergyPair layers;
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& op : layer.ops) layers += op.energy;
  }
  EXPECT_EQ(layers.machine.parts, energy.all.machine.parts);
  EXPECT_EQ(layers.dense.parts, energy.all.dense.parts);
  double sum = 0;
  for (const double part : energy.all.machine.parts) sum += part;
  EXPECT_EQ(sum, energy.all.machine.total());
}

TEST(RunEnergy, WeightsOnceABatch) {
  const RunEnergy energy = run_energy(example(), table());
  const EnergyPair& first = energy.layers[0].ops[0].energy;
  EXPECT_DOUBLE_EQ(first.machine.of(Component::kDram),
                   8 * (32 * 3000 + 100) * 8e-12 + (32 * 3 + 1) * 1.205e-9);
  EXPECT_DOUBLE_EQ(first.machine.of(Component::kSram),
                   ((32 * (10 + 20) + 32 * 50) * 287.3 + (32 * 40 + 5 + 32 * 50) * 356.6) * 1e-12);
  EXPECT_EQ(first.machine.of(Component::kDram), first.dense.of(Component::kDram));
  EXPECT_EQ(first.machine.of(Component::kSram), first.dense.of(Component::kSram));
  // Cores by compute cycles, DRAM's static power by all cycles.
  EXPECT_DOUBLE_EQ(first.dense.of(Component::kCores) / first.machine.of(Component::kCores), 1000.0 / 400);
  EXPECT_DOUBLE_EQ(first.dense.of(Component::kDramStatic) / first.machine.of(Component::kDramStatic),
                   1000.0 / 500);
}

TEST(RunEnergy, GatedOperationsPayNoSchedulers) {
  const RunEnergy energy = run_energy(example(), table());
  const EnergyPair& on = energy.layers[0].ops[0].energy;
  const EnergyPair& gated = energy.layers[1].ops[0].energy;
  EXPECT_GT(on.machine.of(Component::kAMuxes), 0);
  EXPECT_GT(on.machine.of(Component::kSchedulersAndBMuxes), 0);
  EXPECT_EQ(gated.machine.of(Component::kAMuxes), 0);
  EXPECT_EQ(gated.machine.of(Component::kSchedulersAndBMuxes), 0);
  EXPECT_GT(gated.machine.of(Component::kZeroCounters), 0);  // what it takes to know
  EXPECT_EQ(gated.dense.of(Component::kZeroCounters), 0);
}

TEST(RunEnergy, TableOfAnotherDataTypeIsRefused) {
  EXPECT_THROW(run_energy(example(), CostTable::of_data_type("bfloat16")), InputError);
}

TEST(RunEnergy, JsonHoldsItAndReadsBack) {
  const std::vector<RunResult> runs{example()};
  const std::vector<RunEnergy> energies{run_energy(runs[0], table())};
  const std::string text = results_to_json(runs, {&energies, true});
  const auto json = nlohmann::json::parse(text);
  const auto& energy = json["runs"][0]["energy"];
  EXPECT_EQ(energy["all"]["machine"]["total"].get<double>(), energies[0].all.machine.total());
  EXPECT_EQ(energy["all"]["chip_efficiency"].get<double>(), energies[0].all.chip_efficiency());
  EXPECT_EQ(energy["operations"][1]["machine"]["a_muxes"].get<double>(), 0);
  EXPECT_FALSE(nlohmann::json::parse(results_to_json(runs, {&energies, false}))["runs"][0]["energy"].contains(
      "operations"));
  EXPECT_FALSE(nlohmann::json::parse(results_to_json(runs))["runs"][0].contains("energy"));
  const auto& activity = json["runs"][0]["layers"][0]["ops"][0]["activity"];
  EXPECT_EQ(activity["bound"], "dram");
  EXPECT_EQ(activity["weights_dram_read_bytes"], 100);
  const ResultFile read = parse_results_json(text, "a.json");
  EXPECT_EQ(read.runs[0].layers[0].ops[0], runs[0].layers[0].ops[0]);
  ASSERT_TRUE(read.energies.at(0).has_value());
  EXPECT_EQ(read.energies[0]->table, table().name);
  EXPECT_EQ(read.energies[0]->all.machine, energies[0].all.machine.total());
  EXPECT_EQ(read.energies[0]->by_operation[0].dense, energies[0].by_operation[0].dense.total());
  EXPECT_FALSE(parse_results_json(results_to_json(runs), "a.json").energies.at(0).has_value());
  auto broken = json;
  broken["runs"][0]["energy"]["all"]["machine"]["total"] = -1;
  EXPECT_THROW(parse_results_json(broken.dump(), "a.json"), InputError);
  broken["runs"][0]["energy"]["all"] = 3;
  EXPECT_THROW(parse_results_json(broken.dump(), "a.json"), InputError);
}

TEST(RunEnergy, CsvHasTheActivity) {
  const std::string csv = results_to_csv({example()});
  const std::string header = csv.substr(0, csv.find('\n'));
  EXPECT_NE(header.find(",bound,dense_bound,compute_cycles"), std::string::npos);
  const std::string line =
      csv.substr(csv.find('\n') + 1, csv.find('\n', csv.find('\n') + 1) - csv.find('\n') - 1);
  EXPECT_EQ(std::ranges::count(header, ','), std::ranges::count(line, ','));
  EXPECT_NE(line.find(",dram,compute,400,1000"), std::string::npos) << line;
}

TEST(RunEnergy, CsvHasTheEnergyOfEachOperation) {
  std::vector<RunResult> runs{example(), example()};
  runs[1].hardware.reset();
  runs[1].layers[0].ops[0].activity.reset();
  const std::vector<RunEnergy> energies{run_energy(runs[0], table()), RunEnergy{}};
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out(1);
    for (const char c : line) {
      if (c == ',') {
        out.emplace_back();
      } else {
        out.back() += c;
      }
    }
    return out;
  };
  std::istringstream lines(results_to_csv(runs, energies));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(cells(line));
  ASSERT_EQ(rows.size(), 5U);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto cell = [&](std::size_t row, const std::string& name) {
    const auto at = std::ranges::find(rows[0], name);
    if (at == rows[0].end()) return "no column " + name;
    return rows[row][static_cast<std::size_t>(at - rows[0].begin())];
  };
  EXPECT_EQ(rows[0].back(), "energy_chip_efficiency");
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const EnergyPair& pair = energies[0].layers[layer].ops[0].energy;
    EXPECT_EQ(cell(layer + 1, "energy_table"), table().name);
    EXPECT_EQ(cell(layer + 1, "energy_node_nm"), "65");
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_dense_cores")), pair.dense.of(Component::kCores));
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_dense_total")), pair.dense.total());
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_machine_dram_static")),
              pair.machine.of(Component::kDramStatic));
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_machine_total")), pair.machine.total());
    EXPECT_EQ(std::stod(cell(layer + 1, "energy_chip_efficiency")), pair.chip_efficiency());
  }
  EXPECT_EQ(cell(3, "energy_table"), "");  // a machine without costs
  EXPECT_EQ(cell(4, "energy_machine_total"), "");
  EXPECT_EQ(results_to_csv(runs).find("energy"), std::string::npos);
  EXPECT_EQ(results_to_csv(runs, {RunEnergy{}, RunEnergy{}}), results_to_csv(runs));
}

TEST(RunEnergy, TablesSayWhatHasNoCosts) {
  std::vector<RunResult> runs{example(), example()};
  runs[1].arch = "other";
  runs[1].hardware.reset();
  EXPECT_FALSE(has_energy(runs[1]));
  const std::string text = energy_tables(runs, {run_energy(runs[0], table()), RunEnergy{}}, true, {});
  EXPECT_NE(text.find("compute cores"), std::string::npos);
  EXPECT_NE(text.find("whole chip and DRAM"), std::string::npos);
  EXPECT_NE(text.find("other: there is no energy model of this machine"), std::string::npos);
}

TEST(Area, TextHoldsTableThree) {
  const std::string text = area_text("tensordash", std::get<TileHardware>(*example().hardware), table(), {});
  for (const char* number :
       {"30.41", "0.38", "0.91", "1.73", "13910.0", "47.3", "102.8", "145.3", "576.00", "17.00"}) {
    EXPECT_NE(text.find(number), std::string::npos) << number << "\n" << text;
  }
  EXPECT_TRUE(
      nlohmann::json::accept(area_json("tensordash", std::get<TileHardware>(*example().hardware), table())));
}

}  // namespace
}  // namespace lacuna
