#include "report/compare/comparison.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/testing/example_runs.hpp"

namespace lacuna {
namespace {

using testing::example_run;

ResultFile file(std::vector<RunResult> runs) { return {"0.1.0", std::move(runs)}; }

TEST(Comparison, EqualResults) {
  const ResultFile a = file({example_run("m", "x", 0.5), example_run("m", "y", 0.5)});
  const Comparison comparison = compare_results(a, a, 0);
  EXPECT_FALSE(comparison.differs());
  EXPECT_EQ(comparison.runs.size(), 2u);
  EXPECT_NE(comparison_text(comparison, {"a", "b", "1", "1"}, 0, {}).find("The results are equal"),
            std::string::npos);
}

TEST(Comparison, SettingsAloneAreToldButAreNoDifference) {
  const ResultFile a = file({example_run("m", "x", 0.5)});
  ResultFile b = a;
  b.runs[0].config[0].value = "8";
  b.runs[0].config.push_back({"depth", "3", ParamSpec::Kind::kInteger});
  b.runs[0].seed = 8;
  const Comparison comparison = compare_results(a, b, 0);
  EXPECT_FALSE(comparison.differs());
  const std::string text = comparison_text(comparison, {"a", "b", "1", "1"}, 0, {});
  EXPECT_NE(text.find("rows: 4 in A, 8 in B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("depth: (none) in A, 3 in B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("seed: 7 in A, 8 in B\n"), std::string::npos) << text;
}

TEST(Comparison, ChangesAreSortedByTheirEffectOnCycles) {
  const ResultFile a = file({example_run("m", "x", 0.5)});
  ResultFile b = a;
  b.runs[0].layers[0].ops[0].cycles = 51;
  b.runs[0].layers[0].ops[1].cycles = 30;
  b.runs[0].layers[0].ops[0].counters[0].value = 4;
  const Comparison comparison = compare_results(a, b, 0);
  EXPECT_TRUE(comparison.differs());
  ASSERT_EQ(comparison.runs[0].changes.size(), 2u);
  EXPECT_EQ(comparison.runs[0].changes[0].op, Operation::kWeightGrad);
  EXPECT_EQ(comparison.runs[0].changes[1].fields, (std::vector<std::string>{"cycles", "counters.steps"}));
  const auto json = nlohmann::json::parse(comparison_json(comparison, {"a", "b", "1", "1", 0}));
  EXPECT_TRUE(json["differs"]);
  EXPECT_DOUBLE_EQ(json["runs"][0]["total"]["all"]["ratio"], 81.0 / 90.0);
  EXPECT_EQ(json["runs"][0]["changes"][0]["layer"], "conv");
  EXPECT_EQ(json["runs"][0]["changes"][0]["op"], "weight_grad");
}

TEST(Comparison, ThresholdIsARelativeChange) {
  const ResultFile a = file({example_run("m", "x", 0.5)});
  ResultFile b = a;
  b.runs[0].layers[0].ops[0].cycles = 51;  // 2 % more than 50
  EXPECT_TRUE(compare_results(a, b, 0.019).differs());
  EXPECT_FALSE(compare_results(a, b, 0.02).differs());
  b.runs[0].layers[1].ops[0].cycles = 1;  // from nothing to something is always a change
  EXPECT_TRUE(compare_results(a, b, 0.5).differs());
}

TEST(Comparison, MissingLayersAndRuns) {
  const ResultFile a = file({example_run("m", "x", 0.5), example_run("n", "x", 0.5)});
  ResultFile b = file({example_run("m", "x", 0.5), example_run("o", "x", 0.5)});
  b.runs[0].layers.pop_back();
  const Comparison comparison = compare_results(a, b, 0);
  EXPECT_TRUE(comparison.differs());
  EXPECT_EQ(comparison.runs[0].only_a, (std::vector<std::string>{"fc input_grad"}));
  ASSERT_EQ(comparison.only_a.size(), 1u);
  EXPECT_EQ(comparison.only_a[0]->info.model, "n");
  EXPECT_EQ(comparison.only_b[0]->info.model, "o");
}

TEST(Comparison, FindsTheSameRunInAnotherFolderAndOnAnotherMachine) {
  const ResultFile a = file({example_run("m", "x", 0.5), example_run("m", "x", 1.0)});
  ResultFile b = file({example_run("m", "x", 1.0), example_run("m", "y", 0.5)});
  b.runs[0].trace = "elsewhere/" + b.runs[0].trace;
  const Comparison comparison = compare_results(a, b, 0);
  ASSERT_EQ(comparison.runs.size(), 2u);
  EXPECT_TRUE(comparison.only_a.empty());
  EXPECT_TRUE(comparison.only_b.empty());
  EXPECT_FALSE(comparison.differs());
  EXPECT_EQ(comparison.runs[1].settings[0].name, "arch");
}

TEST(Comparison, EnergyIsComparedWhereBothHaveIt) {
  ResultFile a = file({example_run("m", "x", 0.5)});
  StoredEnergy energy;
  energy.table = "t";
  energy.node_nm = 65;
  for (auto& joules : energy.by_operation) joules = {4, 2};
  energy.all = {12, 6};
  ResultFile b = a;
  a.energies = {energy};
  b.energies = {std::nullopt};
  EXPECT_FALSE(compare_results(a, b, 0).differs());  // written without --energy
  b.energies = a.energies;
  EXPECT_FALSE(compare_results(a, b, 0).differs());
  b.energies[0]->by_operation[Operation::kWeightGrad].machine = 3;
  b.energies[0]->all.machine = 7;
  b.energies[0]->table = "u";
  const Comparison comparison = compare_results(a, b, 0.1);
  EXPECT_TRUE(comparison.differs());
  EXPECT_FALSE(compare_results(a, b, 0.6).differs());
  const std::string text = comparison_text(comparison, {"a", "b", "1", "1"}, 0, {});
  EXPECT_NE(text.find("energy table: t in A, u in B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.1667"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(comparison_json(comparison, {"a", "b", "1", "1", 0}));
  EXPECT_EQ(json["runs"][0]["energy"]["weight_grad"]["ratio"], 1.5);
  EXPECT_EQ(json["runs"][0]["energy"]["all"]["b"], 7);
}

}  // namespace
}  // namespace lacuna
