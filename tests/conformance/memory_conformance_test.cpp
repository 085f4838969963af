// Laws of the memory system of the tile machines, whichever machine it feeds.
#include <gtest/gtest.h>
#include <map>
#include <string_view>

#include "base/testing.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using testing::make_machine, testing::Settings;

class TileMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(TileMachine, EnginesAgreeWithModelledMemory) {
  for (const char* arithmetic : {"fp32", "bfloat16"}) {
    const auto m = make_machine(
        GetParam(), {{"memory", "modelled"}, {"arithmetic", arithmetic}, {"tile_grid", "square"}});
    for (std::uint64_t seed = 1; seed <= random_cases(120); ++seed) {
      const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 6, 2});
      for (const Operation op : kOperations) {
        const OperationWork work(trace.layers()[0], op, 8);
        const OpResult fast = m->simulate(work, {Engine::kFast, seed});
        ASSERT_TRUE(fast.activity.has_value());
        ASSERT_EQ(m->simulate(work, {Engine::kFunctional, seed}), fast) << GetParam() << " seed " << seed;
      }
    }
  }
}

// Memory adds waiting, and nothing else: the same work, never less time, never slower than dense.
TEST_P(TileMachine, ModelledMemoryOnlyAddsWaiting) {
  const Settings slow{{"memory", "modelled"}, {"dram_mts", "400"}, {"transposers", "1"}, {"multicast", "1"}};
  const auto ideal =
      make_machine(GetParam(), {{"dram_mts", "400"}, {"transposers", "1"}, {"multicast", "1"}});
  const auto modelled = make_machine(GetParam(), slow);
  std::map<Bound, int> bounds;
  for (std::uint64_t seed = 1; seed <= random_cases(300); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 9, 2});
    for (const Operation op : kOperations) {
      const OpResult a = ideal->simulate(trace.layers()[0], op, {});
      const OpResult b = modelled->simulate(trace.layers()[0], op, {});
      ASSERT_EQ(b.activity->compute_cycles, a.cycles);
      ASSERT_EQ(b.activity->samples, a.activity->samples);
      ASSERT_EQ(b.activity->weights, a.activity->weights);
      ASSERT_EQ(a.activity->bound, Bound::kCompute);
      ASSERT_GE(b.cycles, a.cycles);
      ASSERT_GE(testing::simulate_baseline(*modelled, trace.layers()[0], op).cycles, b.cycles);
      ASSERT_EQ(b.scheduled_macs, a.scheduled_macs);
      ++bounds[b.activity->bound];
    }
  }
  EXPECT_GT(bounds[Bound::kDram], 0);
  EXPECT_GT(bounds[Bound::kTransposers], 0);
}

INSTANTIATE_TEST_SUITE_P(Machines, TileMachine, ::testing::Values("dense", "tensordash"),
                         [](const ::testing::TestParamInfo<std::string>& name) { return name.param; });

// Skipping zeros does not change what is moved.
TEST(TileMachines, DenseAndTensorDashMoveTheSame) {
  const auto dense = make_machine("dense");
  const auto tensordash = make_machine("tensordash");
  for (std::uint64_t seed = 1; seed <= random_cases(200); ++seed) {
    const Trace trace = testing::random_trace(seed);
    for (const Operation op : kOperations) {
      const OpResult a = dense->simulate(trace.layers()[0], op, {});
      OpResult b = tensordash->simulate(trace.layers()[0], op, {});
      ASSERT_EQ(testing::simulate_baseline(*tensordash, trace.layers()[0], op), a);
      b.activity->compute_cycles = a.activity->compute_cycles;
      ASSERT_EQ(*b.activity, *a.activity) << "seed " << seed;
    }
  }
}

// 1e-41 is a number in FP32 and a zero in bfloat16.
TEST(TileMachines, Bfloat16SkipsWhatRoundsToZero) {
  TraceBuilder builder("small");
  builder.add_layer("fc", LayerShape::linear(4, 64, 4));
  std::vector<float> a(4 * 64, 0.5F);
  for (std::size_t i = 0; i < a.size(); i += 2) a[i] = 1e-41F;
  builder.values(Operand::kA, a);
  builder.values(Operand::kW, std::vector<float>(4 * 64, 1));
  builder.values(Operand::kG, std::vector<float>(4 * 4, 1));
  const Trace trace = builder.build();
  for (const Engine engine : {Engine::kFast, Engine::kFunctional}) {
    const auto effectual = [&](const char* arithmetic) {
      const auto machine = make_machine("tensordash", {{"arithmetic", arithmetic}});
      return simulate_trace(trace, *machine, "tensordash", {engine, 1}, 1).layers[0].ops[0].effectual_macs;
    };
    EXPECT_EQ(effectual("fp32"), 4 * 64 * 4);
    EXPECT_EQ(effectual("bfloat16"), 4 * 32 * 4);
  }
}

// Energy alone: slots with two non-zeros at full cost, the others at another; the baseline may differ.
TEST(TileMachines, ZeroOperandsArePricedApart) {
  const Trace trace =
      testing::one_layer_trace(LayerShape::conv2d(2, 32, 48, {12, 12}, {3, 3}, {1, 1}, {1, 1}),
                               ZeroSpec::uniform(0.6), ZeroSpec::uniform(0.1), ZeroSpec::uniform(0.6));
  const Layer& layer = trace.layers()[0];
  const auto count = [](const OpResult& result, std::string_view action) {
    double sum = 0;
    for (const ActionCount& counted : result.actions)
      sum += counted.part == "mac" && counted.action == action ? counted.count : 0;
    return sum;
  };
  for (const Operation op : kOperations) {
    const auto machine = [](const char* choice) {
      return make_machine("tensordash", {{"zero_operands", choice}, {"tiles", "1"}});
    };
    const OpResult plain = machine("clocked")->simulate(layer, op, {});
    EXPECT_EQ(count(plain, "cycle"), static_cast<double>(plain.cycles) * 256);
    for (const auto& [choice, action] : {std::pair{"switching", "zero_cycle"}, {"gated", "gated_cycle"}}) {
      const OpResult apart = machine(choice)->simulate(layer, op, {});
      EXPECT_EQ(apart.cycles, plain.cycles);
      EXPECT_EQ(count(apart, "cycle"), static_cast<double>(plain.effectual_macs));
      EXPECT_EQ(count(apart, "cycle") + count(apart, action), count(plain, "cycle"));
      EXPECT_EQ(machine(choice)->simulate(layer, op, {Engine::kFunctional, 1}), apart);
      const OpResult dense = testing::simulate_baseline(*machine(choice), layer, op);
      EXPECT_EQ(count(dense, "cycle"), count(apart, "cycle"));
      EXPECT_GT(count(dense, action), count(apart, action));
    }
    EXPECT_EQ(machine("gated-baseline")->simulate(layer, op, {}), plain);
    EXPECT_EQ(testing::simulate_baseline(*machine("gated-baseline"), layer, op),
              testing::simulate_baseline(*machine("gated"), layer, op));
  }
}

// The cycles of the recorded steps as they were before there was a memory system.
TEST(TileMachines, IdealMemoryChangesNoCycles) {
  struct Known {
    const char* trace;
    const char* arch;
    double forward, input_grad, weight_grad;
  };
  for (const Known& known : {Known{"alexnet", "dense", 1322789, 1139972, 1181460},
                             Known{"alexnet", "tensordash", 611470, 517400, 576725},
                             Known{"squeezenet", "dense", 174325, 119549, 131706},
                             Known{"squeezenet", "tensordash", 110558, 67598, 89514}}) {
    const Trace trace =
        Trace::open(std::string(LACUNA_SOURCE_DIR) + "/data/" + known.trace + "_p100.safetensors.zst");
    const Settings first_rules{{"tile_grid", "rows"}, {"tile_dealing", "blocks"}};
    const Totals total =
        simulate_trace(trace, *make_machine(known.arch, first_rules), known.arch, {}, 2).total();
    EXPECT_EQ(total.forward.cycles, known.forward) << known.trace << " " << known.arch;
    EXPECT_EQ(total.input_grad.cycles, known.input_grad) << known.trace << " " << known.arch;
    EXPECT_EQ(total.weight_grad.cycles, known.weight_grad) << known.trace << " " << known.arch;
  }
}

// [TensorDash §3.6.3]: tensors kept in scheduled form in blocks and expanded before use move fewer rows and
// bytes; what the tiles do does not change.
TEST(ScheduledStorage, ChangesTrafficAndNothingElse) {
  const auto machine = [](const char* storage, const char* memory) {
    return make_machine("tensordash", {{"storage", storage}, {"memory", memory}});
  };
  const Trace trace =
      testing::one_layer_trace(LayerShape::conv2d(2, 32, 48, {12, 12}, {3, 3}, {1, 1}, {1, 1}),
                               ZeroSpec::uniform(0.8), ZeroSpec::uniform(0.9), ZeroSpec::uniform(0.8));
  const Layer& layer = trace.layers()[0];
  for (const char* memory : {"ideal", "modelled"}) {
    for (const Operation op : kOperations) {
      const OpResult dense = machine("dense", memory)->simulate(layer, op, {});
      const OpResult stored = machine("blocks", memory)->simulate(layer, op, {});
      EXPECT_EQ(machine("blocks", memory)->simulate(layer, op, {Engine::kFunctional, 1}), stored);
      EXPECT_EQ(testing::simulate_baseline(*machine("blocks", memory), layer, op),
                testing::simulate_baseline(*machine("dense", memory), layer, op));
      if (std::string_view(memory) == "ideal") {
        EXPECT_EQ(stored.cycles, dense.cycles);
      }
      // At 80 % zeros and more the bus carries more than with zero compression: scheduled form ends at a
      // third.
      EXPECT_GT(stored.activity->samples.dram_read_bytes + stored.activity->weights.dram_read_bytes,
                dense.activity->samples.dram_read_bytes + dense.activity->weights.dram_read_bytes);
      EXPECT_EQ(stored.activity->compute_cycles, dense.activity->compute_cycles);
      EXPECT_EQ(stored.activity->scratchpad_reads, dense.activity->scratchpad_reads);
      EXPECT_EQ(stored.activity->psum_writes, dense.activity->psum_writes);
      EXPECT_EQ(stored.activity->transposed_groups, dense.activity->transposed_groups);
      EXPECT_LT(stored.activity->am_reads, dense.activity->am_reads);
      EXPECT_LT(stored.activity->bm_reads, dense.activity->bm_reads);
      EXPECT_LT(stored.activity->samples.fill_rows, dense.activity->samples.fill_rows);
    }
  }
}

}  // namespace
}  // namespace lacuna
