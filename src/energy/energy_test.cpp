#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "energy/tile_energy.hpp"

namespace lacuna {
namespace {

// Table 2's chip: 16 tiles of 4 x 4 PEs of 16 MACs, 8-input multiplexers, a scheduler a row.
ChipParts chip(std::int64_t mux_inputs, std::int64_t schedulers) {
  return ChipParts::of_tiles(16, 4, 4, 16, mux_inputs, schedulers, 15, 64, 500);
}

// [TensorDash Table 3], within 0.01 mm2 and 1 mW: its parts do not add up to the last digit.
TEST(Table3, AreasAndPowersFromUnits) {
  const CostTable table = CostTable::of_data_type("fp32");
  const ByComponent area = area_mm2(chip(8, 4), table);
  const ByComponent dense_area = area_mm2(chip(0, 0), table);
  EXPECT_NEAR(area.of(Component::kCores), 30.41, 0.01);
  EXPECT_NEAR(area.of(Component::kTransposers), 0.38, 0.01);
  EXPECT_NEAR(area.of(Component::kSchedulersAndBMuxes), 0.91, 0.01);
  EXPECT_NEAR(area.of(Component::kAMuxes), 1.73, 0.01);
  EXPECT_NEAR(area.compute(), 33.44, 0.011);
  EXPECT_NEAR(dense_area.compute(), 30.80, 0.011);
  EXPECT_NEAR(area.compute() / dense_area.compute(), 1.09, 0.005);
  EXPECT_NEAR(area.of(Component::kSram), 3 * 192, 0.01);
  EXPECT_NEAR(area.of(Component::kScratchpads), 17, 0.01);

  const ByComponent power = logic_watts(chip(8, 4), table);
  const ByComponent dense_power = logic_watts(chip(0, 0), table);
  EXPECT_NEAR(power.of(Component::kCores) * 1e3, 13910, 1);
  EXPECT_NEAR(power.of(Component::kTransposers) * 1e3, 47.3, 0.1);
  EXPECT_NEAR(power.of(Component::kSchedulersAndBMuxes) * 1e3, 102.8, 0.1);
  EXPECT_NEAR(power.of(Component::kAMuxes) * 1e3, 145.3, 0.1);
  EXPECT_NEAR(power.total() * 1e3, 14205, 1);
  EXPECT_NEAR(dense_power.total() * 1e3, 13957, 1);
  EXPECT_NEAR(power.total() / dense_power.total(), 1.02, 0.005);
}

// [TensorDash §4.4]: 1.13x area and 1.05x power in bfloat16.
TEST(Table3, Bfloat16) {
  const CostTable table = CostTable::of_data_type("bfloat16");
  EXPECT_NEAR(area_mm2(chip(8, 4), table).compute() / area_mm2(chip(0, 0), table).compute(), 1.13, 0.005);
  EXPECT_NEAR(logic_watts(chip(8, 4), table).total() / logic_watts(chip(0, 0), table).total(), 1.05, 0.005);
}

TEST(Area, FollowsTheConfiguration) {
  const CostTable table = CostTable::of_data_type("fp32");
  const ByComponent whole = area_mm2(chip(8, 4), table);
  // Depth 2 has 5 inputs instead of 8 [Fig. 19].
  EXPECT_NEAR(area_mm2(chip(5, 4), table).of(Component::kAMuxes), whole.of(Component::kAMuxes) * 5 / 8, 1e-9);
  // A scheduler a PE instead of one a row.
  EXPECT_NEAR(area_mm2(chip(8, 16), table).of(Component::kSchedulersAndBMuxes),
              whole.of(Component::kSchedulersAndBMuxes) * 4, 1e-9);
  const ByComponent half = area_mm2(ChipParts::of_tiles(8, 4, 4, 16, 8, 4, 15, 32, 500), table);
  for (const Component part :
       {Component::kCores, Component::kAMuxes, Component::kSram, Component::kScratchpads}) {
    EXPECT_NEAR(half.of(part), whole.of(part) / 2, 1e-9);
  }
  EXPECT_EQ(half.of(Component::kTransposers), whole.of(Component::kTransposers));
}

TEST(Energy, IsCountsTimesCostsAndTheSumOfItsParts) {
  const CostTable table = CostTable::of_data_type("fp32");
  ChipCounts counts;
  counts.compute_cycles = counts.scheduled_cycles = counts.cycles = 500e6;  // a second
  counts.sram_reads = 2;
  counts.sram_writes = 3;
  counts.dram_bits = 100;
  counts.dram_activations = 7;
  counts.psum_reads = 11;
  const ByComponent energy = energy_joules(counts, chip(8, 4), table);
  const ByComponent power = logic_watts(chip(8, 4), table);
  EXPECT_DOUBLE_EQ(energy.compute(), power.total());
  EXPECT_DOUBLE_EQ(energy.of(Component::kSram), (2 * 287.3 + 3 * 356.6) * 1e-12);
  EXPECT_DOUBLE_EQ(energy.of(Component::kScratchpads), 11 * 3.44e-12);
  EXPECT_DOUBLE_EQ(energy.of(Component::kDram), 800e-12 + 7 * 1.205e-9);
  EXPECT_DOUBLE_EQ(energy.of(Component::kDramStatic), 0.3);
  double sum = 0;
  for (const double part : energy.parts) sum += part;
  EXPECT_EQ(energy.total(), sum);
  EXPECT_NEAR(energy.total(),
              energy.compute() + energy.group(ComponentGroup::kSram) + energy.group(ComponentGroup::kDram),
              1e-12);
  // Gated: nothing for schedulers and multiplexers.
  counts.scheduled_cycles = 0;
  const ByComponent gated = energy_joules(counts, chip(8, 4), table);
  EXPECT_EQ(gated.of(Component::kAMuxes), 0);
  EXPECT_EQ(gated.of(Component::kSchedulersAndBMuxes), 0);
  EXPECT_EQ(gated.of(Component::kCores), energy.of(Component::kCores));
}

TEST(NodeScaling, LogicShrinksDramDoesNot) {
  const CostTable table = CostTable::of_data_type("fp32");
  const CostTable at7 = scale_to_node(table, NodeScale::find(7, "test"));
  EXPECT_NEAR(at7.value(CostKey::kMacEnergy), 6.79199 * 0.028, 1e-4);
  EXPECT_NEAR(at7.value(CostKey::kMacArea), 7424.32 * 0.039, 0.01);
  EXPECT_EQ(at7.value(CostKey::kDramBitEnergy), table.value(CostKey::kDramBitEnergy));
  EXPECT_EQ(at7.cost(CostKey::kMacEnergy).confidence, Confidence::kLow);
  EXPECT_EQ(NodeScale::known(), (std::vector<int>{65, 45, 32, 28, 20, 16, 14, 10, 7}));
  for (const CostKey key :
       {CostKey::kMacEnergy, CostKey::kMacArea, CostKey::kSramReadEnergy, CostKey::kSramBankArea}) {
    double before = table.value(key) * 1.01;
    for (const int node : NodeScale::known()) {
      const double value = scale_to_node(table, NodeScale::find(node, "test")).value(key);
      EXPECT_LT(value, before) << cost_name(key) << " at " << node;
      before = value;
    }
  }
  EXPECT_THROW(NodeScale::find(22, "--node"), InputError);
  EXPECT_THROW(scale_to_node(at7, NodeScale::find(45, "test")), InputError);
}

// --- tables that cannot be used: the message names the file, the line and the key ---

std::string good_table() {
  std::string text = "name: mine\nnode_nm: 65\ndata_type: fp32\ncosts:\n";
  for (std::size_t i = 0; i < kCostKeys; ++i) {
    const auto key = static_cast<CostKey>(i);
    text += fmt::format("  {}: {{value: {}, unit: {}, source: s, confidence: M}}\n", cost_name(key), i,
                        cost_unit(key));
  }
  return text;
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = good_table();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string message(const std::string& yaml) {
  return error_of([&] { CostTable::parse(yaml, "mine.yaml"); });
}

TEST(CostTable, ReadsAGoodOne) {
  const CostTable table = CostTable::parse(good_table(), "mine.yaml");
  EXPECT_EQ(table.name, "mine");
  EXPECT_EQ(table.value(CostKey::kDramStaticPower), 19);
  EXPECT_EQ(table.cost(CostKey::kMacArea).unit, "um2");
  EXPECT_EQ(table.cost(CostKey::kMacArea).source, "s");
}

TEST(CostTable, RefusesBadValuesAndSaysWhere) {
  const auto expect = [](const std::string& yaml, const std::string& part) {
    EXPECT_NE(message(yaml).find(part), std::string::npos) << message(yaml);
  };
  const std::string mac = "mac_energy: {value: 0, unit: pJ, source: s, confidence: M}";
  const auto with = [&](const std::string& line) { return replaced(mac, line); };
  expect(with("mac_energy: {value: -1, unit: pJ, source: s, confidence: M}"),
         "mine.yaml:5: 'mac_energy.value' is negative (-1)");
  for (const char* bad : {"nan", ".nan", "inf", ".inf", "1e999", "x", "1 2", "''", "0x10"}) {
    expect(with(fmt::format("mac_energy: {{value: {}, unit: pJ, source: s, confidence: M}}", bad)),
           "mine.yaml:5: 'mac_energy.value'");
  }
  expect(with("mac_energy: {value: 1, source: s, confidence: M}"),
         "mine.yaml:5: 'mac_energy.unit' is missing");
  expect(with("mac_energy: {value: 1, unit: nJ, source: s, confidence: M}"), "it must be 'pJ'");
  expect(with("mac_energy: {value: 1, unit: pJ, confidence: M}"), "'mac_energy.source' is missing");
  expect(with("mac_energy: {value: 1, unit: pJ, source: s}"), "'mac_energy.confidence' is missing");
  expect(with("mac_energy: {unit: pJ, source: s, confidence: M}"), "'mac_energy.value' is missing");
  expect(with("mac_energy: {value: 1, unit: pJ, source: s, confidence: X}"), "write H, M or L");
  expect(with("mac_energy: {value: 1, unit: pJ, source: s, confidence: M, note: n}"),
         "unknown key 'mac_energy.note'");
  expect(with("mac_energi: {value: 1, unit: pJ, source: s, confidence: M}"),
         "mine.yaml:5: unknown component 'mac_energi'; did you mean 'mac_energy'?");
  expect(with("mac_energy: 1"), "mine.yaml:5: 'mac_energy' has no value, unit, source and confidence");
  expect(with(""), "'costs.mac_energy' is missing");
  expect(replaced("  mac_area", "  mac_energy"), "'mac_energy' is there twice");
  expect(replaced("node_nm: 65", "node: 65"), "mine.yaml:2: unknown key 'node'");
  expect(replaced("node_nm: 65", "node_nm: 0"), "'node_nm' is missing");
  expect(replaced("fp32", "int8"), "write fp32 or bfloat16");
  expect("[1, 2]", "mine.yaml:1: this is not a list");
  expect(good_table() + "---\nname: another\n", "mine.yaml: it holds more than one document; keep one");
  expect("a: [1", "not YAML");
  expect("", "mine.yaml");
  expect("name: x\ncosts: 3\n", "mine.yaml:2");
}

TEST(CostTable, EveryPartOfARandomlyBrokenTableIsRefusedOrRead) {
  const std::string good = good_table();
  for (std::size_t i = 0; i < good.size(); ++i) {
    constexpr std::array kBytes{'\0', '{', ':', '-', '\n', '\xff'};
    for (const std::size_t which : {i % kBytes.size(), (i / kBytes.size()) % kBytes.size()}) {
      std::string broken = good;
      broken[i] = kBytes[which];
      try {
        const CostTable table = CostTable::parse(broken, "mine.yaml");
        for (const Cost& cost : table.costs) ASSERT_GE(cost.value, 0);
      } catch (const InputError& error) {
        ASSERT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
      }
    }
  }
}

TEST(CostTable, BuiltInTablesAndFiles) {
  EXPECT_EQ(CostTable::built_in(), (std::vector<std::string>{"65nm-bfloat16", "65nm-fp32"}));
  for (const std::string& name : CostTable::built_in()) {
    const CostTable table = CostTable::open(name, "test");
    EXPECT_EQ(table.name, name);
    for (const Cost& cost : table.costs) {
      EXPECT_GT(cost.value, 0) << cost.source;
      EXPECT_FALSE(cost.source.empty());
    }
  }
  EXPECT_NO_THROW(CostTable::open(std::string(LACUNA_SOURCE_DIR) + "/configs/energy/65nm-fp32.yaml", "test"));
  EXPECT_THROW(CostTable::open("65nm-fp16", "--energy-table"), InputError);
  EXPECT_THROW(CostTable::open("/", "--energy-table"), InputError);
}

}  // namespace
}  // namespace lacuna
