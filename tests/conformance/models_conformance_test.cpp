// What every accelerator must hold, whichever it is: this suite runs over all registered models.
#include <algorithm>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/accelerator.hpp"
#include "sim/simulate.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/without_zeros.hpp"
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

// A layer whose masks are written out and happen to hold ones alone: no shortcut of an engine applies.
TEST_P(EveryModel, CyclesWithoutZerosAreThoseOfALayerOfOnes) {
  const auto m = machine();
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const LayerShape shape = testing::random_shape(random, testing::RandomLayerLimits{40, 9, 3});
    const auto ones = [](const LayerTensor& t) {
      return std::vector<bool>(static_cast<std::size_t>(t.elements()), true);
    };
    const Trace recorded = testing::random_trace(seed, shape);
    TraceBuilder builder("ones");
    builder.add_layer("layer", shape)
        .mask(TensorRole::kA, ones(recorded.layers()[0].a))
        .mask(TensorRole::kW, ones(recorded.layers()[0].w))
        .mask(TensorRole::kG, ones(recorded.layers()[0].g));
    const Trace trace = builder.build();
    ASSERT_NE(trace.layers()[0].a.mask.row_bytes, 0);
    for (const Operation op : kOperations) {
      SCOPED_TRACE(GetParam() + " seed " + std::to_string(seed) + " " + shape.describe());
      const OperationWork work(trace.layers()[0], op);
      const WorkWithoutZeros full(work);
      ASSERT_EQ(m->simulate(full.work(), {}), m->simulate(work, {}));
    }
  }
}

// What the runner fills in: between the machine and its baseline, and the two factors give the speedup.
TEST_P(EveryModel, SpeedupIsTheProductOfItsTwoFactors) {
  const auto m = machine();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 9, 2});
    const RunResult run = simulate_trace(trace, *m, GetParam(), {}, 1);
    for (std::size_t i = 0; i < run.layers[0].ops.size(); ++i) {
      const CyclePair pair = run.cycles_of(0, i);
      ASSERT_LE(pair.cycles_without_zeros, pair.baseline_cycles);
      ASSERT_GE(pair.cycles_without_zeros, std::min(pair.cycles, pair.baseline_cycles));
      if (pair.cycles == 0) continue;
      ASSERT_NEAR(pair.speedup(), pair.speedup_from_zeros() * pair.speedup_from_empty_lanes(), 1e-12);
    }
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
