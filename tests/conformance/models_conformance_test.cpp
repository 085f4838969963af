// What every accelerator must hold, whichever it is: this suite runs over all registered models.
#include <algorithm>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/accelerator.hpp"
#include "sim/simulate.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/mac_counts.hpp"

namespace lacuna {
namespace {

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Accelerator> machine() const { return testing::make_machine(GetParam()); }
};

// The functional engine compares its values with the reference convolution and throws if they differ.
TEST_P(EveryModel, EnginesAgreeAndValuesEqualTheReference) {
  const auto m = machine();
  for (std::uint64_t seed = 1; seed <= random_cases(250); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 6, 2});
    for (const Operation op : kOperations) {
      const OpResult fast = m->simulate(trace.layers()[0], op, {Engine::kFast, seed});
      ASSERT_EQ(m->simulate(trace.layers()[0], op, {Engine::kFunctional, seed}), fast)
          << GetParam() << " seed " << seed << " " << operation_name(op) << " "
          << trace.layers()[0].shape.describe();
    }
  }
}

TEST_P(EveryModel, CountersMakeSense) {
  const auto m = machine();
  for (std::uint64_t seed = 1; seed <= random_cases(250); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 9, 2});
    const Layer& layer = trace.layers()[0];
    for (const Operation op : kOperations) {
      SCOPED_TRACE(GetParam() + " seed " + std::to_string(seed) + " " + layer.shape.describe());
      const OpResult result = m->simulate(layer, op, {});
      const MacCounts macs = count_macs(layer, op);
      ASSERT_EQ(result.op, op);
      ASSERT_EQ(result.macs, macs.macs);
      ASSERT_EQ(result.effectual_macs, macs.effectual);
      ASSERT_LE(result.effectual_macs, result.scheduled_macs);
      // No work at all is possible: a stride that passes over every input leaves nothing to W*G.
      const std::int64_t least = result.effectual_macs > 0 ? 1 : 0;
      ASSERT_GE(testing::simulate_baseline(*m, layer, op).cycles, least);
      ASSERT_GE(result.cycles, least);
      ASSERT_GE(result.padding_free_cycles, result.cycles);
      ASSERT_EQ(m->simulate(layer, op, {}), result) << "not a pure function";
    }
  }
}

TEST_P(EveryModel, ResultsDoNotDependOnThreads) {
  SyntheticSpec spec;
  for (int i = 0; i < 4; ++i) {
    spec.layers.push_back({"layer" + std::to_string(i),
                           LayerShape::conv2d(2, 24, 40, {14, 14}, {3, 3}, {1, 1}, {1, 1}), 1,
                           ZeroSpec::uniform(0.6), ZeroSpec::uniform(0.3), ZeroSpec::uniform(0.8)});
  }
  const Trace trace = make_synthetic(spec);
  const auto m = machine();
  const RunResult one = simulate_trace(trace, *m, GetParam(), {}, 1);
  for (const int threads : {2, 3, 7}) {
    const RunResult many = simulate_trace(trace, *m, GetParam(), {}, threads);
    for (std::size_t i = 0; i < one.layers.size(); ++i) ASSERT_EQ(many.layers[i].ops, one.layers[i].ops);
  }
}

TEST_P(EveryModel, EveryParameterIsDocumented) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find(GetParam());
  EXPECT_FALSE(model->summary.empty());
  EXPECT_FALSE(model->paper.empty());
  for (const ParamSpec& spec : model->params) {
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_FALSE(spec.citation.empty()) << spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(ArchCatalog().model_names()),
                         [](const ::testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');  // all that GoogleTest takes
                           return name;
                         });

}  // namespace
}  // namespace lacuna
