// static_costs=all: a search pays for what it adds although nothing happens in it.
#include <gtest/gtest.h>

#include "conformance/possible_machine.hpp"
#include "energy/energy.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using testing::make_machine, testing::Settings;

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

const Settings kAll{{"static_costs", "all"}};
const Settings kWaiting{{"memory", "modelled"}, {"dram_mts", "200"}};

std::vector<std::string> machines() { return ArchCatalog().names(); }

Trace layer() {
  return testing::random_trace(3, LayerShape::conv2d(2, 32, 48, {12, 12}, {3, 3}, {1, 1}, {1, 1}));
}

double chip_mm2(const Accelerator& machine) {
  const Hardware hardware = *machine.hardware();
  return area_mm2(hardware, area_table("", 0, hardware)).total();
}

double joules(const Accelerator& machine, const OpResult& result) {
  const Hardware hardware = *machine.hardware();
  const CostTable table = energy_table("", 0, hardware);
  check_energy_costs(table, hardware, "test");
  return energy_joules(hardware, result.actions, table).total();
}

double count_of(const OpResult& result, std::string_view part) {
  double sum = 0;
  for (const ActionCount& count : result.actions)
    sum += count.part == part && count.action == "static" ? count.count : 0;
  return sum;
}

// Nothing else changes: the same cycles and the same other actions.
TEST(StaticCosts, AreAddedToWhatIsCountedAnyway) {
  const Trace trace = layer();
  for (const std::string& name : machines()) {
    SCOPED_TRACE(name);
    const auto plain = make_machine(name, kWaiting), all = make_machine(name, with(kWaiting, kAll));
    for (const Operation op : kOperations) {
      const OperationWork work(trace.layers()[0], op, 4);
      const OpResult without = plain->simulate(work, {});
      OpResult result = all->simulate(work, {});
      EXPECT_EQ(result.cycles, without.cycles);
      EXPECT_GT(joules(*all, result), joules(*plain, without));
      std::erase_if(result.actions, [](const ActionCount& count) {
        return count.action == "static" && count.part != "dram";
      });
      EXPECT_EQ(result.actions, without.actions);
    }
    EXPECT_EQ(testing::check_actions(*all), testing::check_actions(*plain));  // 2:4 may drop products
    EXPECT_NEAR(chip_mm2(*all) - chip_mm2(*plain), 16 * 1.3, 1e-9);  // four channels of four x16 parts
  }
}

// Logic is charged for the cycles in which it waits, SRAM for all of them.
TEST(StaticCosts, LogicPaysWhileItWaits) {
  const Trace trace = layer();
  for (const char* memory : {"ideal", "modelled"}) {
    Settings settings = with(kWaiting, kAll);
    settings.front().second = memory;
    const auto machine = make_machine("dense", settings);
    const OpResult result = machine->simulate(OperationWork(trace.layers()[0], Operation::kForward, 4), {});
    const double cycle = 4 / 500e6;
    const auto all = static_cast<double>(result.cycles);
    const double waiting = all - static_cast<double>(result.activity->compute_cycles);
    EXPECT_EQ(waiting > 0, machine->params().text("memory") == "modelled");
    EXPECT_NEAR(count_of(result, "mac"), 4096 * waiting * cycle, 1e-12);
    EXPECT_NEAR(count_of(result, "sram"), 3 * 64 * all * cycle, 1e-12);
  }
}

// Whatever there is more of costs something.
TEST(StaticCosts, NothingIsFree) {
  const Trace trace = layer();
  struct Change {
    const char* parameter;
    const char* value;
  };
  const std::vector<Change> changes{
      {"dram_channels", "8"}, {"dram_channel_bits", "128"}, {"sram_banks", "8"}, {"tiles", "32"}};
  const auto machine = make_machine("tensordash", with(kWaiting, kAll));
  for (const Change& change : changes) {
    SCOPED_TRACE(change.parameter);
    const auto larger =
        make_machine("tensordash", with(with(kWaiting, kAll), {{change.parameter, change.value}}));
    EXPECT_GT(chip_mm2(*larger), chip_mm2(*machine));
    // Power: energy of the static actions over the time.
    const auto watts = [&](const Accelerator& of) {
      const OpResult result = of.simulate(OperationWork(trace.layers()[0], Operation::kForward, 4), {});
      OpResult idle = result;
      std::erase_if(idle.actions, [](const ActionCount& count) { return count.action != "static"; });
      return joules(of, idle) / static_cast<double>(result.cycles);
    };
    EXPECT_GT(watts(*larger), watts(*machine));
  }
}

TEST(StaticCosts, ATableMustPriceThem) {
  const auto machine = make_machine("dense", kAll);
  CostTable table = energy_table("", 0, *machine->hardware());
  for (PartCosts& part : table.parts) {
    if (part.name == "mac")
      std::erase_if(part.costs, [](const auto& cost) { return cost.first == "static"; });
  }
  EXPECT_NO_THROW(check_energy_costs(table, *make_machine("dense")->hardware(), "dense"));
  try {
    check_energy_costs(table, *machine->hardware(), "dense");
    ADD_FAILURE();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("has no cost 'mac.static'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lacuna
