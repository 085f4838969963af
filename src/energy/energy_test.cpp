#include "energy/energy.hpp"

#include <array>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "energy/node_scaling.hpp"

namespace lacuna {
namespace {

Cost cost(double value, std::string unit) { return {value, std::move(unit), "s", Confidence::kMedium}; }

// Two parts of logic in one component, a memory, and something off the chip.
Hardware hardware() {
  return {.description = "a toy",
          .data_type = "fp32",
          .frequency_mhz = 500,
          .components = {{"logic",
                          "logic",
                          ComponentGroup::kCore,
                          {{"adder", 10, {"cycle"}}, {"mux", 4, {"cycle"}}, {"counter", 0, {"row"}}}},
                         {"ram", "the RAM", ComponentGroup::kSram, {{"bank", 2, {"read", "write"}}}},
                         {"bus", "the bus", ComponentGroup::kDram, {{"wire", 0, {"bit", "static"}}}}}};
}

CostTable table() {
  return {.name = "toy",
          .summary = "",
          .node_nm = 65,
          .data_type = "fp32",
          .notes = {},
          .parts = {{"adder", Scaling::kLogic, {{"cycle", cost(3, "pJ")}, {"area", cost(100, "um2")}}},
                    {"mux", Scaling::kLogic, {{"cycle", cost(1, "pJ")}, {"area", cost(50, "um2")}}},
                    {"counter", Scaling::kLogic, {{"row", cost(7, "pJ")}}},
                    {"bank",
                     Scaling::kSram,
                     {{"read", cost(20, "pJ")}, {"write", cost(30, "pJ")}, {"area", cost(0.5, "mm2")}}},
                    {"wire", Scaling::kNone, {{"bit", cost(2, "nJ")}, {"static", cost(300, "mW")}}}}};
}

TEST(Energy, IsCountsTimesCostsAndTheSumOfItsParts) {
  const std::vector<ActionCount> actions{{"logic", "adder", "cycle", 1000}, {"logic", "counter", "row", 3},
                                         {"ram", "bank", "read", 5},        {"ram", "bank", "write", 7},
                                         {"bus", "wire", "bit", 11},        {"bus", "wire", "static", 0.25},
                                         {"ram", "bank", "read", 1}};
  const ByComponent energy = energy_joules(hardware(), actions, table());
  EXPECT_DOUBLE_EQ(energy.of("logic"), (3000 + 21) * 1e-12);
  EXPECT_DOUBLE_EQ(energy.of("ram"), (6 * 20 + 7 * 30) * 1e-12);
  EXPECT_DOUBLE_EQ(energy.of("bus"), 22e-9 + 0.25 * 0.3);
  EXPECT_EQ(energy.of("no such thing"), 0);
  EXPECT_DOUBLE_EQ(energy.total(), energy.of("logic") + energy.of("ram") + energy.of("bus"));
  EXPECT_EQ(energy.compute(), energy.of("logic"));
  EXPECT_EQ(energy.group(ComponentGroup::kSram), energy.of("ram"));
  EXPECT_EQ(energy.find("ram")->title, "the RAM");
  const ByComponent nothing = energy_joules(hardware(), {}, table());
  EXPECT_EQ(nothing.values.size(), 3);  // a component that did nothing is listed with 0
  EXPECT_EQ(nothing.total(), 0);
}

TEST(Energy, WhatIsNotDeclaredOrPricedIsADefectOfTheModel) {
  for (const ActionCount& count : std::vector<ActionCount>{
           {"logic", "adder", "read", 1}, {"logic", "bank", "read", 1}, {"nothing", "adder", "cycle", 1}}) {
    EXPECT_THROW(energy_joules(hardware(), std::array{count}, table()), std::logic_error);
  }
  CostTable cheap = table();
  cheap.parts.erase(cheap.parts.begin());
  EXPECT_THROW(energy_joules(hardware(), std::array{ActionCount{"logic", "adder", "cycle", 1}}, cheap),
               std::logic_error);
}

TEST(Area, AndPeakPowerAreOfTheUnits) {
  const ByComponent area = area_mm2(hardware(), table());
  EXPECT_DOUBLE_EQ(area.of("logic"), (10 * 100 + 4 * 50) * 1e-6);
  EXPECT_DOUBLE_EQ(area.of("ram"), 1);
  EXPECT_EQ(area.find("bus"), nullptr);  // nothing of it has units
  const ByComponent power = peak_watts(hardware(), table());
  EXPECT_DOUBLE_EQ(power.of("logic"), (10 * 3 + 4 * 1) * 1e-12 * 500e6);
  EXPECT_EQ(power.values.size(), 1);  // memories are not clocked
}

TEST(ByComponent, AddsByName) {
  ByComponent sum;
  sum += area_mm2(hardware(), table());
  sum += area_mm2(hardware(), table());
  EXPECT_DOUBLE_EQ(sum.of("ram"), 2);
  ByComponent other;
  other.values = {{"new", "new", ComponentGroup::kDram, 5}};
  sum += other;
  EXPECT_EQ(sum.of("new"), 5);
  EXPECT_EQ(sum.values.size(), 3);
}

TEST(CostCheck, NamesWhatIsMissingAndWhatIsNear) {
  EXPECT_NO_THROW(check_energy_costs(table(), hardware(), "toy"));
  EXPECT_NO_THROW(check_area_costs(table(), hardware(), "toy"));
  CostTable wrong = table();
  wrong.parts[3].costs[0].first = "raed";
  EXPECT_EQ(error_of([&] { check_energy_costs(wrong, hardware(), "toy"); }),
            "toy: the energy table 'toy' has no cost 'bank.read'; add 'read' under parts.bank (is "
            "'bank.raed' meant "
            "for it?), take another --energy-table, or leave the machine out");
  CostTable other = table();
  other.data_type = "bfloat16";
  EXPECT_EQ(
      error_of([&] { check_energy_costs(other, hardware(), "toy"); }),
      "toy: it computes in fp32, the energy table 'toy' is of bfloat16; set arithmetic=bfloat16, or take "
      "another --energy-table");
  EXPECT_NO_THROW(check_area_costs(other, hardware(), "toy"));
  other.parts[0].costs.pop_back();
  EXPECT_THROW(check_area_costs(other, hardware(), "toy"), InputError);
  Hardware unknown = hardware();
  unknown.area_unknown = "no area is published of it";
  unknown.area_remedy = "take another";
  EXPECT_EQ(error_of([&] { check_area_costs(table(), unknown, "toy"); }),
            "toy: no area is published of it; take another");
}

TEST(CostCheck, RefusesNamesThatNoMachineHas) {
  const std::array machines{hardware()};
  EXPECT_NO_THROW(check_cost_names(table(), machines));
  CostTable wrong = table();
  wrong.parts[0].name = "ader";
  EXPECT_NE(
      error_of([&] { check_cost_names(wrong, machines); }).find("unknown part 'ader'; did you mean 'adder'?"),
      std::string::npos);
  wrong = table();
  wrong.parts[3].costs[1].first = "wirte";
  EXPECT_NE(error_of([&] {
              check_cost_names(wrong, machines);
            }).find("unknown cost 'wirte' of 'bank'; did you mean 'write'?"),
            std::string::npos);
  wrong = table();
  wrong.parts[2].costs.emplace_back("area", cost(1, "um2"));  // a counter has no units
  EXPECT_THROW(check_cost_names(wrong, machines), InputError);
}

TEST(NodeScaling, LogicAndSramShrinkDramDoesNot) {
  const CostTable at7 = scale_to_node(table(), NodeScale::find(7, "test"));
  EXPECT_DOUBLE_EQ(at7.find("adder", "cycle")->value, 3 * 0.028);
  EXPECT_DOUBLE_EQ(at7.find("adder", "area")->value, 100 * 0.039);
  EXPECT_DOUBLE_EQ(at7.find("bank", "read")->value, 20 * 0.03031);
  EXPECT_DOUBLE_EQ(at7.find("bank", "area")->value, 0.5 * 0.02714);
  EXPECT_EQ(at7.find("wire", "bit")->value, 2);
  EXPECT_EQ(at7.find("adder", "cycle")->confidence, Confidence::kLow);
  EXPECT_EQ(at7.node_nm, 7);
  EXPECT_EQ(NodeScale::known(), (std::vector<int>{65, 45, 32, 28, 20, 16, 14, 10, 7}));
  EXPECT_THROW(NodeScale::find(22, "--node"), InputError);
}

TEST(NodeScaling, FromAnyKnownNodeAndBack) {
  const CostTable back =
      scale_to_node(scale_to_node(table(), NodeScale::find(16, "test")), NodeScale::find(65, "test"));
  for (const PartCosts& part : table().parts) {
    for (const auto& [name, before] : part.costs) {
      EXPECT_NEAR(back.find(part.name, name)->value, before.value, 1e-12 * before.value)
          << part.name << " " << name;
    }
  }
  CostTable odd = table();
  odd.node_nm = 22;
  EXPECT_THROW(scale_to_node(odd, NodeScale::find(45, "test")), InputError);
  EXPECT_EQ(scale_to_node(odd, {.node_nm = 22,
                                .logic_energy = {},
                                .logic_area = {},
                                .delay = {},
                                .sram_energy = {},
                                .sram_area = {}})
                .node_nm,
            22);
}

TEST(NodeScaling, EveryCostOfTheBuiltInTablesShrinksWithTheNode) {
  for (const std::string& name : CostTable::built_in()) {
    const CostTable built_in = CostTable::open(name, "test");
    for (const PartCosts& part : built_in.parts) {
      for (const auto& [what, first] : part.costs) {
        double before = 1e30;
        for (const int node : NodeScale::known()) {
          const double value =
              scale_to_node(built_in, NodeScale::find(node, "test")).find(part.name, what)->value;
          if (part.scaling == Scaling::kNone) {
            EXPECT_EQ(value, first.value);
          } else {
            EXPECT_LT(value, before * 1.01) << part.name << "." << what << " at " << node;
          }
          before = value;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
