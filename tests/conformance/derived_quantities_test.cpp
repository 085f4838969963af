// Every size of a machine follows from the parameters it depends on, as the tables of docs/configuration.md
// ("How sizes follow from parameters") say: the tables are read, so neither they nor the models can change
// alone.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "sim/testing/machines.hpp"

namespace lacuna {
namespace {

using testing::make_machine, testing::Settings;

// The sizes of a machine: its totals by name, the units of its parts as component.part.
std::map<std::string, double> sizes(const Hardware& hardware) {
  std::map<std::string, double> all;
  for (const DesignTotal& total : hardware.totals) all[total.name] = total.value;
  for (const Component& component : hardware.components) {
    for (const Part& part : component.parts) {
      if (part.units > 0) all[component.name + "." + part.name] = part.units;
    }
  }
  return all;
}

std::map<std::string, double> sizes(const std::string& machine, const Settings& settings) {
  return sizes(*make_machine(machine, settings)->hardware());
}

// A table of the page: machines, parameters, and for each size the factor that doubling each of them gives.
struct ScalingTable {
  std::vector<std::string> machines, parameters;
  std::map<std::string, std::vector<double>> factors;
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::stringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    all.push_back(first == std::string::npos ? ""
                                             : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return all;
}

// The words between backquotes.
std::vector<std::string> code_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    words.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

double factor(const std::string& cell) {
  const std::size_t slash = cell.find('/');
  return slash == std::string::npos ? std::stod(cell) : std::stod(cell) / std::stod(cell.substr(slash + 1));
}

std::vector<ScalingTable> read_tables() {
  std::ifstream page(LACUNA_SOURCE_DIR "/docs/configuration.md");
  std::vector<ScalingTable> tables;
  bool in_section = false, in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) in_section = line == "## How sizes follow from parameters";
    if (!in_section || !line.starts_with("|")) {
      in_table = false;
      continue;
    }
    const std::vector<std::string> row = cells(line);
    if (!in_table) {
      in_table = true;
      ScalingTable& table = tables.emplace_back();
      table.machines = code_words(row[0]);
      for (std::size_t i = 1; i < row.size(); ++i) {
        for (const std::string& parameter : code_words(row[i])) table.parameters.push_back(parameter);
      }
      continue;
    }
    if (row[0].starts_with("-")) continue;
    std::vector<double> factors;
    for (std::size_t i = 1; i <= tables.back().parameters.size(); ++i) factors.push_back(factor(row[i]));
    for (const std::string& size : code_words(row[0])) tables.back().factors[size] = factors;
  }
  return tables;
}

TEST(DerivedQuantities, ScaleAsDocumented) {
  std::vector<ScalingTable> tables = read_tables();
  std::set<std::string> machines;
  for (ScalingTable& table : tables) {
    ASSERT_FALSE(table.parameters.empty());
    // A table of a named configuration holds what differs from its model, whose table comes before it.
    const std::string base = testing::configure_machine(table.machines[0]).params.owner();
    const bool is_named = base != table.machines[0];
    std::set<std::string> own;
    for (const auto& [size, factors] : table.factors) own.insert(size);
    if (is_named) {
      const auto of_model = std::ranges::find_if(
          tables, [&](const ScalingTable& t) { return std::ranges::count(t.machines, base) > 0; });
      ASSERT_EQ(of_model->parameters, table.parameters);
      for (const auto& [size, factors] : of_model->factors) table.factors.emplace(size, factors);
    }
    std::set<std::string> seen;
    for (const std::string& machine : table.machines) {
      machines.insert(machine);
      const auto before = sizes(machine, {});
      for (const auto& [size, value] : before) {
        seen.insert(size);
        EXPECT_TRUE(table.factors.contains(size))
            << machine << " has " << size << ", which is not in the table";
      }
      for (std::size_t i = 0; i < table.parameters.size(); ++i) {
        const std::string& parameter = table.parameters[i];
        const auto params = testing::configure_machine(machine).params;
        const auto after = sizes(machine, {{parameter, std::to_string(2 * params.integer(parameter))}});
        for (const auto& [size, factors] : table.factors) {
          if (!before.contains(size)) continue;
          EXPECT_NEAR(after.at(size) / before.at(size), factors[i], 1e-9)
              << machine << ": " << size << " with twice the " << parameter;
        }
      }
    }
    for (const std::string& size : own) {
      EXPECT_TRUE(seen.contains(size)) << "no machine of the table has " << size;
    }
  }
  // Each model that says what it is built of.
  for (const std::string& model : ArchCatalog().model_names()) {
    if (make_machine(model)->hardware()) {
      EXPECT_TRUE(machines.contains(model)) << model << " is in no table";
    }
  }
}

const std::vector<std::string> kTileMachines{"dense", "tensordash", "cnvlutin", "structured-2of4"};

// Wider lanes on half the tiles: the same chip in all totals, with the time of the transposers unchanged.
TEST(DerivedQuantities, HalfTheTilesOfTwiceTheLanesAreTheSameChip) {
  for (const std::string& machine : kTileMachines) {
    const auto table2 = sizes(machine, {});
    const auto wide = sizes(machine, {{"lanes", "32"}, {"tiles", "8"}});
    for (const char* size : {"multipliers", "sram_values", "sram_values_per_cycle", "scratchpad_values",
                             "transposer_values_per_cycle", "dram_bytes_per_second", "sram.sram"}) {
      EXPECT_DOUBLE_EQ(wide.at(size), table2.at(size)) << machine << " " << size;
    }
    EXPECT_EQ(wide.at("transposer_group_cycles"), 32) << machine;
    EXPECT_EQ(wide.at("transposers.transposer"), 30) << machine;
  }
  // 64 groups of 16 x 16 are 16 of 32 x 32.
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 64, 64, {8, 8}, {1, 1}));
  const auto cycles = [&](const Settings& settings) {
    const OpResult result =
        make_machine("dense", settings)->simulate(trace.layers()[0], Operation::kWeightGrad);
    return std::pair(result.activity->transposed_groups, result.activity->transposer_cycles);
  };
  const auto [groups, time] = cycles({{"tiles", "1"}, {"rows", "8"}, {"columns", "8"}});
  const auto [wide_groups, wide_time] =
      cycles({{"tiles", "1"}, {"rows", "8"}, {"columns", "8"}, {"lanes", "32"}});
  EXPECT_EQ(groups, 4 * wide_groups);
  EXPECT_EQ(time, wide_time);
  EXPECT_EQ(time, ((groups + 14) / 15 + 1) * 16);
}

TEST(DerivedQuantities, PinsKeepTotals) {
  const std::vector<Settings> designs{{{"lanes", "32"}},
                                      {{"lanes", "8"}},
                                      {{"rows", "16"}},
                                      {{"columns", "1"}, {"rows", "8"}},
                                      {{"lanes", "64"}, {"rows", "1"}}};
  for (const std::string& machine : kTileMachines) {
    const auto table2 = sizes(machine, {});
    for (Settings settings : designs) {
      settings.emplace_back("pin", "all");
      const auto pinned = sizes(machine, settings);
      for (const char* size : {"multipliers", "sram_values", "sram_values_per_cycle",
                               "transposer_values_per_cycle", "dram_bytes_per_second"}) {
        EXPECT_DOUBLE_EQ(pinned.at(size), table2.at(size)) << machine << " " << size;
      }
    }
    EXPECT_EQ(sizes(machine, {{"tiles", "4"}, {"pin", "memory"}}).at("sram_values"),
              table2.at("sram_values"));
    EXPECT_EQ(sizes(machine, {{"tiles", "4"}, {"pin", "memory"}}).at("multipliers"), 1024);
    EXPECT_EQ(sizes(machine, {{"rows", "8"}, {"pin", "multipliers"}}).at("sram_values"),
              table2.at("sram_values") / 2);
  }
  EXPECT_EQ(sizes("sparten", {{"units", "1024"}, {"pin", "memory"}}).at("sram_values"),
            sizes("sparten", {}).at("sram_values"));
}

// What is pinned is part of the configuration that results carry, and of the baseline's.
TEST(DerivedQuantities, PinnedTilesAreShownAndShared) {
  for (const std::string& name : kTileMachines) {
    const auto machine = make_machine(name, {{"lanes", "32"}, {"pin", "all"}});
    EXPECT_EQ(machine->params().integer("tiles"), 8) << name;
    if (const auto baseline = machine->baseline()) {
      EXPECT_EQ(sizes(*make_machine(baseline->model, baseline->settings)->hardware()).at("multipliers"),
                4096);
      EXPECT_EQ(make_machine(baseline->model, baseline->settings)->params().integer("tiles"), 8);
    }
  }
}

TEST(DerivedQuantities, RefusesPinsThatContradict) {
  EXPECT_THROW(make_machine("dense", {{"lanes", "32"}, {"tiles", "4"}, {"pin", "all"}}), InputError);
  EXPECT_THROW(make_machine("dense", {{"lanes", "24"}, {"pin", "multipliers"}}), InputError);
  EXPECT_THROW(make_machine("sparten", {{"units", "1024"}, {"pin", "multipliers"}}), InputError);
  EXPECT_NO_THROW(make_machine("dense", {{"lanes", "32"}, {"tiles", "8"}, {"pin", "all"}}));
}

// Larger scratchpads take more area.
TEST(DerivedQuantities, ScratchpadsFollowTheirBanksAndRows) {
  const auto table2 = sizes("cnvlutin", {});
  for (const char* parameter : {"scratchpad_rows", "scratchpad_banks"}) {
    const auto twice =
        sizes("cnvlutin", {{parameter, parameter == std::string("scratchpad_rows") ? "32" : "6"}});
    for (const char* size : {"scratchpads.scratchpad", "column_slices.scratchpad", "offsets.scratchpad"}) {
      EXPECT_DOUBLE_EQ(twice.at(size), 2 * table2.at(size)) << size;
    }
  }
}

// Costs of an outer-product PE are given for 32 banks and n = 4.
TEST(DerivedQuantities, OuterProductActionsFollowBanksAndN) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 16, 16, {8, 8}, {3, 3}));
  const auto count = [&](const Settings& settings, const char* part) {
    double sum = 0;
    for (const ActionCount& action :
         make_machine("ant", settings)->simulate(trace.layers()[0], Operation::kForward).actions) {
      if (action.part == part) sum += action.count;
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(count({{"banks", "64"}}, "crossbar"), 2 * count({}, "crossbar"));
  const auto gated = [](const char* n) {
    return Settings{{"idle_logic", "gated"}, {"n", n}, {"multipliers", "1024"}};
  };
  // 22 additions instead of 14, for half as many vectors at least.
  EXPECT_GT(count(gated("8"), "range"), count(gated("4"), "range") * 22 / 14 / 2 * 0.9);
}

}  // namespace
}  // namespace lacuna
