// Machines that share work give the results that each gives alone, to the last counter.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/simulation.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna {
namespace {

Trace small_network() {
  const ZeroSpec some = ZeroSpec::uniform(0.6), few = ZeroSpec::by_channel(0.3);
  SyntheticSpec spec;
  spec.batch = 12;
  spec.layers = {
      {"strided", LayerShape::conv2d(2, 19, 18, {9, 8}, {3, 3}, {2, 2}, {1, 1}), 1, some, few, few},
      {"grouped", LayerShape::conv2d(2, 18, 12, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2), 1, few, some,
       some},
      {"linear", LayerShape::linear(3, 40, 21), 1, few, few, some}};
  return make_synthetic(spec);
}

std::string other_value(const ParamSpec& spec, Random& random) {
  switch (spec.kind) {
    case ParamSpec::Kind::kInteger: {
      const double value = std::stod(spec.default_value);
      const double near =
          value * std::array{0.25, 0.5, 2.0, 4.0}[static_cast<std::size_t>(random.integer(0, 3))];
      return std::to_string(static_cast<std::int64_t>(std::clamp(near, spec.min, spec.max)));
    }
    case ParamSpec::Kind::kNumber:
      return std::to_string(std::clamp(2 * std::stod(spec.default_value), spec.min, spec.max));
    case ParamSpec::Kind::kFlag:
      return random.chance(0.5) ? "on" : "off";
    case ParamSpec::Kind::kText:
      if (spec.choices.empty()) return spec.default_value;
      return spec.choices[static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(spec.choices.size()) - 1))];
  }
  return spec.default_value;
}

// A machine that differs from its model in one to three parameters; null if they do not go together.
std::shared_ptr<const Accelerator> draw_machine(const AcceleratorModel& model, Random& random) {
  Params params(model.name, model.params);
  for (std::int64_t changes = random.integer(1, 3); changes > 0; --changes) {
    const ParamSpec& spec = model.params[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(model.params.size()) - 1))];
    params.set(spec.name, other_value(spec, random), "test");
  }
  try {
    return model.make(params);
  } catch (const InputError&) {
    return nullptr;
  }
}

class SharedWork : public ::testing::TestWithParam<std::string> {};

TEST_P(SharedWork, GivesTheResultsOfEachMachineAlone) {
  const AcceleratorModel& model = *AcceleratorRegistry::instance().find(GetParam());
  const Trace trace = small_network();
  const TraceWork work(trace);
  Random random(20);
  Simulation together;
  std::vector<std::shared_ptr<const Accelerator>> machines{model.make(Params(model.name, model.params))};
  const std::size_t wanted = 2 + random_cases(60);
  while (machines.size() < wanted) {
    if (auto machine = draw_machine(model, random)) machines.push_back(std::move(machine));
  }
  for (const auto& machine : machines) together.add("machine", machine);
  const std::vector<RunResult> shared = together.run(work).runs;
  ASSERT_EQ(shared.size(), machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const RunResult alone = simulate_trace(trace, *machines[i], "machine", SimOptions{}, 1);
    EXPECT_EQ(shared[i].config, alone.config);
    for (std::size_t layer = 0; layer < alone.layers.size(); ++layer) {
      EXPECT_EQ(shared[i].layers[layer].ops, alone.layers[layer].ops) << memo_key(machines[i]->params(), {});
      EXPECT_EQ(shared[i].compared_with().layers[layer].ops, alone.compared_with().layers[layer].ops);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedWork, ::testing::ValuesIn(ArchCatalog().model_names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The long work is done once: columns, tiles and memory do not count the streams again.
TEST(SharingKey, LeavesOutWhatDoesNotEnterScheduling) {
  const auto key = [](const std::string& name, const std::string& value) {
    Machine machine = ArchCatalog().find("tensordash", "test");
    if (!name.empty()) machine.params.set(name, value, "test");
    return machine.build()->sharing_key();
  };
  const std::string plain = key("", "");
  for (const auto& [name, value] : {std::pair{"columns", "8"},
                                    {"tiles", "4"},
                                    {"memory", "modelled"},
                                    {"dram_channels", "2"},
                                    {"frequency_mhz", "1000"},
                                    {"arithmetic", "bfloat16"}}) {
    EXPECT_EQ(key(name, value), plain) << name;
  }
  for (const auto& [name, value] : {std::pair{"rows", "8"},
                                    {"depth", "2"},
                                    {"lanes", "8"},
                                    {"sync", "decoupled"},
                                    {"order", "column-major"}}) {
    EXPECT_NE(key(name, value), plain) << name;
  }
}

}  // namespace
}  // namespace lacuna
