#include "sweep/plan/plan.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sweep/plan/design.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::string_view kTrace =
    "traces: [{synthetic: one, layers: ['conv2d in=16 out=16 kernel=3 input=6']}]\n";

Plan parse(std::string_view rest) { return Plan::parse(std::string(kTrace) + std::string(rest), "p.yaml"); }
std::string error(std::string_view rest) {
  return error_of([&] {
    const Plan plan = parse(rest);
    const DesignSpace space(plan);
    DesignFactory factory(space);
    list_designs(factory);
  });
}

// "rows=2 columns=8", one per design.
std::vector<std::string> designs(const Plan& plan) {
  const DesignSpace space(plan);
  std::vector<std::string> all;
  space.for_each([&](const Choice& choice) {
    std::string text = plan.machines[choice.machine].name;
    for (const auto& [name, value] : space.machine(choice).params.values()) {
      if (name == "rows" || name == "columns" || name == "tiles") text += ' ' + value;
    }
    all.push_back(text);
    return true;
  });
  return all;
}

TEST(SweepPlan, MultipliesListsAndRanges) {
  const Plan plan =
      parse("machines: dense\nparameters: {rows: [2, 4], columns: {from: 2, to: 8, times: 2}}\n");
  EXPECT_EQ(designs(plan), (std::vector<std::string>{"dense 16 2 2", "dense 16 2 4", "dense 16 2 8",
                                                     "dense 16 4 2", "dense 16 4 4", "dense 16 4 8"}));
  EXPECT_EQ(plan.varied_parameters(), (std::vector<std::string>{"columns", "rows"}));
  EXPECT_EQ(DesignSpace(plan).combinations(), 6);
}

TEST(SweepPlan, StepsDoNotDrift) {
  const Plan plan = parse("parameters: {gating_threshold: {from: 0.1, to: 0.5, step: 0.1}}\n");
  std::vector<std::string> values;
  for (const auto& value : plan.axes[0].values) values.push_back(value[0]);
  EXPECT_EQ(values, (std::vector<std::string>{"0.1", "0.2", "0.3", "0.4", "0.5"}));
}

TEST(SweepPlan, ZipsConditionsAndParametersOfOneMachine) {
  const Plan plan = parse(
      "machines: [dense, tensordash]\n"
      "parameters: {tensordash.tiles: [4, 8]}\n"
      "zip: [{rows: [2, 4, 8], columns: [8, 4, 4]}]\n"
      "conditions: [columns * rows = 16, \"machine = 'dense' or tiles < 8\"]\n");
  EXPECT_EQ(designs(plan), (std::vector<std::string>{"dense 16 2 8", "dense 16 4 4", "tensordash 4 2 8",
                                                     "tensordash 4 4 4"}));
}

TEST(SweepPlan, AConditionSaysNothingAboutMachinesWithoutItsParameters) {
  const Plan plan = parse("machines: [dense, ant]\nparameters: {rows: [2, 4]}\nconditions: [rows > 2]\n");
  EXPECT_EQ(designs(plan), (std::vector<std::string>{"dense 16 4 4", "ant"}));
}

TEST(SweepPlan, LimitsAreCheckedBeforehand) {
  const Plan plan =
      parse("parameters: {tiles: [1, 4, 16, 64]}\nlimits: [area_mm2 < 300, multipliers <= 4096]\n");
  const DesignSpace space(plan);
  DesignFactory factory(space);
  const DesignList list = list_designs(factory);
  EXPECT_EQ(list.allowed, 4);
  EXPECT_GE(list.over_limits, 1);
  EXPECT_EQ(list.entries.size() + list.over_limits, 4);
}

TEST(SweepPlan, ParametersThatDoNotGoTogetherAreToldApart) {
  const Plan plan = parse("parameters: {sync: [lockstep, lines], tiles: [1, 16]}\n");
  const DesignSpace space(plan);
  DesignFactory factory(space);
  const DesignList list = list_designs(factory);
  EXPECT_EQ(list.entries.size(), 3);
  ASSERT_EQ(list.impossible.size(), 1);
  EXPECT_EQ(list.impossible[0].parameters, "sync=lines tiles=16");
}

TEST(SweepPlan, ANamedBaselineWaitsForMemoryAsAllDesignsDo) {
  for (const char* memory : {"ideal", "modelled"}) {
    const Plan plan = parse("machines: [dense, sparten]\nbaseline: tensordash\nparameters: {memory: [" +
                            std::string(memory) + "]}\n");
    const DesignSpace space(plan);
    DesignFactory factory(space);
    const std::string wanted = std::string("\"memory\":\"") + memory;
    int found = 0;
    list_designs(factory, [&](const DesignRecord& design) {
      found += design.baseline_configuration.find(wanted) != std::string::npos ? 1 : 0;
    });
    EXPECT_EQ(found, 2) << memory;
  }
  // With both, a design would be compared with a machine that is not like it.
  const Plan both = parse("baseline: dense\nparameters: {memory: [ideal, modelled]}\n");
  const DesignSpace space(both);
  DesignFactory factory(space);
  EXPECT_EQ(list_designs(factory).entries.size(), 1);
  EXPECT_EQ(space.shared("memory"), "");
  EXPECT_EQ(space.shared("rows"), "4");
}

TEST(SweepPlan, SeedsMakeSyntheticTraces) {
  const Plan plan = parse("seeds: [1, 7]\n");
  ASSERT_EQ(plan.traces.size(), 2);
  EXPECT_EQ(plan.traces[1].synthetic->seed, 7);
  EXPECT_NE(plan.traces[1].origin.find("--seed 7"), std::string::npos);
}

TEST(SweepPlan, ErrorsSayWhereAndWhat) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"machnes: dense\n", "p.yaml:2:1: unknown key 'machnes'; did you mean 'machines'?"},
      {"machines: [dense, tensordsh]\n",
       "p.yaml:2:19: unknown machine 'tensordsh'; did you mean 'tensordash'?"},
      {"machines: [dense, dense]\n", "p.yaml:2:19: the machine 'dense' is there twice"},
      {"parameters:\n  rowz: [2]\n",
       "p.yaml:3:3: no machine of this plan has a parameter 'rowz'; did you mean 'rows'?"},
      {"parameters:\n  rows: [2, 400]\n", "p.yaml:3:13: "},
      {"parameters:\n  rows: [2, 2]\n", "p.yaml:3:13: 'rows' has the value '2' twice"},
      {"parameters:\n  rows: []\n", "p.yaml:3:3: 'rows' has no values"},
      {"parameters:\n  ant.rows: [2]\n", "p.yaml:3:3: 'ant' is not one of the plan's machines"},
      {"parameters:\n  rows: {from: 8, to: 2}\n", "p.yaml:3:3: the range of 'rows' is empty"},
      {"parameters:\n  rows: {from: 1, to: 4, stp: 1}\n",
       "p.yaml:3:26: a range has no 'stp'; did you mean 'step'?"},
      {"parameters:\n  rows: {from: 0, to: 4, times: 2}\n", "such a range never ends"},
      {"parameters:\n  frequency_mhz: {from: 0, to: 1e18, step: 1e-3}\n", "more than 10000 values"},
      {"zip: [{rows: [2, 4], columns: [8]}]\n", "p.yaml:2:22: 'columns' has 1 values, 'rows' has 2"},
      {"parameters: {rows: [2, 4]}\nzip: [{rows: [2], columns: [8]}]\n", "'rows' varies twice"},
      {"conditions: [colums > 2]\n", "did you mean 'columns'?"},
      {"conditions: [rows > ]\n", "p.yaml:2:14: column"},
      {"parameters: {rows: [2, 4]}\nconditions: [rows > 5]\n", "the conditions leave none of 2 combinations"},
      {"limits: [area_mm2 < 1]\n", "none of 1 designs can be computed: 1 are over the limits"},
      {"measure: [cycles, energi]\n", "p.yaml:2:19: nothing is called 'energi'; did you mean 'energy'?"},
      {"at_most: 0\n", "'at_most' is not a whole number from 1 to"},
      {"seeds: [one]\n", "'one' is not a seed"},
  };
  for (const auto& [plan, message] : cases)
    EXPECT_NE(error(plan).find(message), std::string::npos) << plan << error(plan);
  EXPECT_NE(error_of([] { Plan::parse("machines: dense\n", "p.yaml"); }).find("the plan has no 'traces'"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              Plan::parse("traces: [no/such.zst]\n", "p.yaml");
            }).find("p.yaml:1:10: there is no file"),
            std::string::npos);
  EXPECT_NE(error_of([] { Plan::parse("traces: ['no/*.zst']\n", "p.yaml"); }).find("no file matches"),
            std::string::npos);
}

TEST(SweepPlan, HostilePlansAreRefusedOrHarmless) {
  // A billion combinations, a million values per axis, a plan that holds itself.
  const std::string wide = "{from: 1, to: 64}";
  EXPECT_NE(
      error(
          fmt::format(
              "parameters: {{rows: {0}, columns: {0}, tiles: {{from: 1, to: 4096}}, depth: [2, 3]}}\n", wide))
          .find("the plan has 33554432 combinations"),
      std::string::npos);
  const Plan limited = parse(fmt::format(
      "machines: dense\nparameters: {{rows: {0}, columns: {0}, tiles: {{from: 1, to: 4096}}}}\nat_most: 3\n",
      wide));
  const DesignSpace space(limited);
  DesignFactory factory(space);
  EXPECT_EQ(list_designs(factory).entries.size(), 3);
  EXPECT_NE(error("parameters: &a {rows: *a}\n"), "no error");
  EXPECT_NE(error("parameters: {rows: &a [2, *a]}\n"), "no error");
  EXPECT_NE(error("parameters: {connectivity: &a [[*a]]}\n"), "no error");
  EXPECT_NE(error("parameters: {rows: [" + std::string(200, '[') + "\n"), "no error");
}

}  // namespace
}  // namespace lacuna::sweep
