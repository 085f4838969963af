#include "energy/cost_table.hpp"

#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"

namespace lacuna {
namespace {

constexpr const char* kMac = "    cycle: {value: 0, unit: pJ, source: s, confidence: M}\n";

std::string good_table() {
  return std::string("name: mine\nnode_nm: 65\ndata_type: fp32\nparts:\n  mac:\n") + kMac +
         "    area: {value: 1, unit: um2, source: s, confidence: H}\n    scales_as: logic\n"
         "  dram:\n    scales_as: none\n    static: {value: 2, unit: mW, source: t, confidence: L}\n"
         "notes: [one thing, another]\n";
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
  EXPECT_EQ(table.find("mac")->scaling, Scaling::kLogic);
  EXPECT_EQ(table.find("mac", "area")->unit, "um2");
  EXPECT_EQ(table.find("mac", "area")->si(), 1e-6);
  EXPECT_EQ(table.find("dram", "static")->si(), 2e-3);
  EXPECT_EQ(table.find("dram", "static")->source, "t");
  EXPECT_EQ(table.find("dram", "static")->confidence, Confidence::kLow);
  EXPECT_EQ(table.find("dram", "bit"), nullptr);
  EXPECT_EQ(table.find("sram"), nullptr);
  EXPECT_EQ(table.notes.size(), 2);
}

TEST(CostTable, RefusesBadValuesAndSaysWhere) {
  const auto expect = [](const std::string& yaml, const std::string& part) {
    EXPECT_NE(message(yaml).find(part), std::string::npos) << message(yaml);
  };
  const auto with = [&](const std::string& line) { return replaced(kMac, "    " + line + "\n"); };
  expect(with("cycle: {value: -1, unit: pJ, source: s, confidence: M}"),
         "mine.yaml:6: 'mac.cycle.value' is negative (-1)");
  for (const char* bad : {"nan", ".nan", "inf", ".inf", "1e999", "x", "1 2", "''", "0x10"}) {
    expect(with(fmt::format("cycle: {{value: {}, unit: pJ, source: s, confidence: M}}", bad)),
           "mine.yaml:6: 'mac.cycle.value'");
  }
  expect(with("cycle: {value: 1, source: s, confidence: M}"), "mine.yaml:6: 'mac.cycle.unit' is missing");
  expect(with("cycle: {value: 1, unit: mW, source: s, confidence: M}"), "it must be pJ or nJ");
  expect(with("static: {value: 1, unit: pJ, source: s, confidence: M}"), "it must be mW");
  expect(replaced("unit: um2", "unit: pJ"), "'mac.area.unit' is 'pJ', it must be um2 or mm2");
  expect(with("cycle: {value: 1, unit: pJ, confidence: M}"), "'mac.cycle.source' is missing");
  expect(with("cycle: {value: 1, unit: pJ, source: s}"), "'mac.cycle.confidence' is missing");
  expect(with("cycle: {unit: pJ, source: s, confidence: M}"), "'mac.cycle.value' is missing");
  expect(with("cycle: {value: 1, unit: pJ, source: s, confidence: X}"), "write H, M or L");
  expect(with("cycle: {value: 1, unit: pJ, source: s, confidence: M, note: n}"),
         "unknown key 'mac.cycle.note'");
  expect(with("cycle: 1"), "mine.yaml:6: 'mac.cycle' has no value, unit, source and confidence");
  expect(replaced("    area:", "    cycle:"), "'cycle' is there twice");
  expect(replaced("    scales_as: logic\n", ""), "mine.yaml:5: 'mac.scales_as' is missing");
  expect(replaced("scales_as: logic", "scales_as: lgic"), "write logic, sram or none");
  expect(replaced("node_nm: 65", "node: 65"), "mine.yaml:2: unknown key 'node'");
  expect(replaced("node_nm: 65", "node_nm: 0"), "'node_nm' is missing");
  expect(replaced("fp32", "int8"), "write fp32, bfloat16, mixed or fixed16");
  expect(replaced("notes: [one thing, another]", "notes: 3"), "'notes' is not a list");
  expect(replaced("parts:", "costs:"), "unknown key 'costs'");
  expect("name: x\nnode_nm: 65\ndata_type: fp32\n", "'parts' is missing");
  expect("[1, 2]", "mine.yaml:1: this is not a list of 'key: value' lines");
  expect(good_table() + "---\nname: another\n", "mine.yaml: it holds more than one document; keep one");
  expect("a: [1", "not YAML");
  expect("", "mine.yaml");
  expect("name: x\nparts: 3\n", "mine.yaml:2");
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
        for (const PartCosts& part : table.parts) {
          for (const auto& [name, cost] : part.costs) ASSERT_GE(cost.si(), 0);
        }
      } catch (const InputError& error) {
        ASSERT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
      }
    }
  }
}

TEST(CostTable, BuiltInTablesAndFiles) {
  EXPECT_EQ(CostTable::built_in(), (std::vector<std::string>{"16nm-published", "65nm-bfloat16", "65nm-fp32",
                                                             "65nm-mixed", "rtl-osu018"}));
  for (const std::string& name : CostTable::built_in()) {
    const CostTable table = CostTable::open(name, "test");
    EXPECT_EQ(table.name, name);
    for (const PartCosts& part : table.parts) {
      for (const auto& [what, cost] : part.costs) EXPECT_GT(cost.value, 0) << part.name << "." << what;
    }
  }
  EXPECT_NO_THROW(CostTable::open(std::string(LACUNA_SOURCE_DIR) + "/configs/energy/65nm-fp32.yaml", "test"));
  EXPECT_THROW(CostTable::open("65nm-fp16", "--energy-table"), InputError);
  EXPECT_THROW(CostTable::open("/", "--energy-table"), InputError);
}

// A multiplier and an adder that work every cycle are a MAC of the tiles.
TEST(CostTable, MultiplierAndAdderAreAMac) {
  for (const char* type : {"fp32", "bfloat16", "mixed"}) {
    const CostTable table = CostTable::of_data_type(type);
    EXPECT_NEAR(table.find("multiplier", "cycle")->value + table.find("adder", "cycle")->value,
                table.find("mac", "cycle")->value, 1e-5);
  }
}

}  // namespace
}  // namespace lacuna
