#include "energy/outer_energy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "energy/outer_area.hpp"
#include "energy/tile_energy.hpp"

namespace lacuna {
namespace {

// Costs of 1, 2, 3, ... pJ in the order of their declaration.
CostTable numbered() {
  CostTable table = CostTable::of_data_type("fp32");
  for (std::size_t i = 0; i < kOuterCostKeys; ++i)
    (*table.outer_product)[i].value = static_cast<double>(i + 1);
  return table;
}

OuterCounts counts() {
  return {.compute_cycles = 100,
          .cycles = 150,
          .executed_products = 900,
          .useful_products = 700,
          .ranges = 50,
          .image_reads = 30,
          .kernel_value_reads = 40,
          .kernel_index_reads = 60,
          .row_pointer_reads = 8,
          .loaded_values = 5,
          .drained_values = 6,
          .halo_values = 2,
          .sram_reads = 3,
          .sram_writes = 4,
          .dram_bits = 1000,
          .dram_activations = 2};
}

TEST(OuterEnergy, OfClockedLogicByCycles) {
  const ByComponent e =
      energy_joules(counts(), {.pes = 2, .multipliers = 32, .search_window = 16}, numbered());
  EXPECT_DOUBLE_EQ(e.of(Component::kMultipliers), 32 * 100 * (1 + 2) * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kCoordinates), 32 * 100 * 3 * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kRangeSearch), 2 * 100 * (4 + 16 * 5) * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kCrossbar), 32 * 100 * 6 * 1e-12);
}

TEST(OuterEnergy, OfGatedLogicByUse) {
  const ByComponent e =
      energy_joules(counts(), {.pes = 2, .multipliers = 32, .search_window = 16, .gated = true}, numbered());
  EXPECT_DOUBLE_EQ(e.of(Component::kMultipliers), (900 * 1 + 700 * 2) * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kCoordinates), 900 * 3 * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kRangeSearch), (50 * 4 + 60 * 5) * 1e-12);
  EXPECT_DOUBLE_EQ(e.of(Component::kCrossbar), 700 * 6 * 1e-12);
}

TEST(OuterEnergy, OfMemoriesByAccess) {
  for (const bool gated : {false, true}) {
    for (const double window : {0.0, 16.0}) {
      const ByComponent e = energy_joules(
          counts(), {.pes = 2, .multipliers = 32, .search_window = window, .gated = gated}, numbered());
      EXPECT_DOUBLE_EQ(e.of(Component::kAccumulators), ((700 + 2) * (7 + 8) + 6 * 7) * 1e-12);
      EXPECT_DOUBLE_EQ(
          e.of(Component::kOperandRams),
          (30 * (9 + 12) + 40 * 11 + 60 * (window > 0 ? 14 : 12) + 8 * 12 + 5 * (10 + 13)) * 1e-12);
      EXPECT_DOUBLE_EQ(e.of(Component::kOutputRams), 6 * (9 + 10) * 1e-12);
      EXPECT_DOUBLE_EQ(e.of(Component::kSram), (3 * 287.3 + 4 * 356.6) * 1e-12);
      EXPECT_DOUBLE_EQ(e.of(Component::kDram), 8000e-12 + 2 * 1.205e-9);
      EXPECT_DOUBLE_EQ(e.of(Component::kDramStatic), 0.3 * 150 / 500e6);
      if (window == 0) {
        EXPECT_EQ(e.of(Component::kRangeSearch), gated ? 50 * 4e-12 : 0);  // no ranges are counted there
      }
    }
  }
}

TEST(OuterEnergy, IsTheSumOfTheComponentsOfItsKind) {
  const ByComponent e =
      energy_joules(counts(), {.pes = 2, .multipliers = 32, .search_window = 16}, numbered());
  double sum = 0;
  for (const Component component : components_of(MachineKind::kOuterProduct)) {
    EXPECT_GT(e.of(component), 0) << component_name(component);
    sum += e.of(component);
  }
  EXPECT_NEAR(sum, e.total(), 1e-15 * sum);
  EXPECT_NEAR(
      e.total(),
      e.group(ComponentGroup::kCore) + e.group(ComponentGroup::kSram) + e.group(ComponentGroup::kDram),
      1e-15 * sum);
  EXPECT_EQ(e.of(Component::kCores), 0);
}

// A multiplier and an adder that work every cycle are a MAC of the tiles.
TEST(OuterCosts, MultiplierAndAdderAreAMac) {
  for (const char* type : {"fp32", "bfloat16"}) {
    const CostTable table = CostTable::of_data_type(type);
    EXPECT_NEAR(table.value(OuterCostKey::kMultiplierEnergy) + table.value(OuterCostKey::kAdderEnergy),
                table.value(CostKey::kMacEnergy), 1e-5);
    for (std::size_t i = 0; i < kOuterCostKeys; ++i) {
      const Cost& cost = table.cost(static_cast<OuterCostKey>(i));
      EXPECT_GT(cost.value, 0);
      EXPECT_EQ(cost.unit, "pJ");
      EXPECT_FALSE(cost.source.empty());
      EXPECT_EQ(cost.confidence, Confidence::kLow);  // none is published
    }
  }
}

TEST(OuterCosts, ScaleWithLogicAndSram) {
  const CostTable table = CostTable::of_data_type("fp32");
  const NodeScale node = NodeScale::find(45, "test");
  const CostTable at45 = scale_to_node(table, node);
  for (std::size_t i = 0; i < kOuterCostKeys; ++i) {
    const auto key = static_cast<OuterCostKey>(i);
    const bool logic = cost_name(key).find("read") == std::string_view::npos &&
                       cost_name(key).find("write") == std::string_view::npos;
    EXPECT_DOUBLE_EQ(at45.value(key),
                     table.value(key) * (logic ? node.logic_energy.value : node.sram_energy.value))
        << cost_name(key);
  }
}

std::string tile_section() {
  std::string text = "name: mine\nnode_nm: 65\ndata_type: fp32\ncosts:\n";
  for (std::size_t i = 0; i < kCostKeys; ++i) {
    const auto key = static_cast<CostKey>(i);
    text += fmt::format("  {}: {{value: 1, unit: {}, source: s, confidence: M}}\n", cost_name(key),
                        cost_unit(key));
  }
  return text;
}
std::string outer_section() {
  std::string text = "outer_product:\n";
  for (std::size_t i = 0; i < kOuterCostKeys; ++i) {
    text += fmt::format("  {}: {{value: {}, unit: pJ, source: s, confidence: M}}\n",
                        cost_name(static_cast<OuterCostKey>(i)), i);
  }
  return text;
}
std::string message(const std::string& yaml) {
  return error_of([&] { CostTable::parse(yaml, "mine.yaml"); });
}

TEST(OuterCosts, TheSectionIsWholeOrNotThere) {
  EXPECT_FALSE(CostTable::parse(tile_section(), "mine.yaml").outer_product.has_value());
  const CostTable both = CostTable::parse(outer_section() + tile_section(), "mine.yaml");
  ASSERT_TRUE(both.outer_product.has_value());
  EXPECT_EQ(both.value(OuterCostKey::kWindowReadEnergy), 13);
  const auto expect = [](const std::string& yaml, const std::string& part) {
    EXPECT_NE(message(yaml).find(part), std::string::npos) << message(yaml);
  };
  std::string shorter = outer_section();
  shorter.resize(shorter.rfind("  window_read_energy"));
  expect(tile_section() + shorter, "mine.yaml: 'outer_product.window_read_energy' is missing");
  std::string wrong = outer_section();
  wrong.replace(wrong.find("range_energy"), 12, "ranges_energy");
  expect(tile_section() + wrong, "unknown component 'ranges_energy'; did you mean 'range_energy'?");
  std::string negative = outer_section();
  negative.replace(negative.find("value: 3"), 8, "value: -3");
  expect(tile_section() + negative, "'range_energy.value' is negative");
  expect(tile_section() + "outer_product: 3\n", "'outer_product' is not a list");
  expect(tile_section() + "outer_products: 3\n", "did you mean 'outer_product'?");
  expect(outer_section() + "name: mine\nnode_nm: 65\ndata_type: fp32\n", "'costs' is missing");
}

// [SCNN, PE area table; ANT abstract]
TEST(OuterArea, PublishedSums) {
  const auto scnn = outer_area(64, false, 16, "test");
  EXPECT_NEAR(total_mm2(scnn) / 64, 0.124, 1e-9);
  EXPECT_NEAR(total_mm2(scnn), 7.9, 0.05);
  const auto ant = outer_area(64, true, 16, "test");
  EXPECT_NEAR(total_mm2(ant) - total_mm2(scnn), 64 * 0.0017, 1e-9);
  EXPECT_NEAR(total_mm2(outer_area(256, true, 16, "test")), 4 * total_mm2(ant), 1e-9);
  for (const OuterAreaPart& part : ant) EXPECT_EQ(part.mm2.unit, "mm2");
}

TEST(OuterArea, ScalesLogicAndMemoriesByTheirFactors) {
  const auto at16 = outer_area(64, true, 16, "test");
  const auto at65 = outer_area(64, true, 65, "test");
  const NodeScale node = NodeScale::find(16, "test");
  for (std::size_t i = 0; i < at16.size(); ++i) {
    const double factor = at65[i].mm2.value / at16[i].mm2.value;
    const bool memory = at16[i].name == "operand_and_output_rams" || at16[i].name == "weight_fifo" ||
                        at16[i].name == "accumulators";
    EXPECT_NEAR(factor, 1 / (memory ? node.sram_area.value : node.logic_area.value), 1e-9) << at16[i].name;
    EXPECT_EQ(at65[i].mm2.confidence, Confidence::kLow);
  }
  EXPECT_THROW(outer_area(64, true, 22, "--node"), InputError);
}

}  // namespace
}  // namespace lacuna
