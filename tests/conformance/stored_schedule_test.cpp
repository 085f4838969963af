// Tiles that run from stored schedules [TensorDash §3.6.1, §3.6.2]: functional = fast = brute force.
#include <algorithm>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "conformance/tensordash_brute.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::testing {
namespace {

double actions(const OpResult& result, const std::string& component) {
  double sum = 0;
  for (const ActionCount& count : result.actions) {
    if (count.component == component) sum += count.count;
  }
  return sum;
}

// Whether `op` can run from what is stored: A*W from either operand, W*G from G.
bool order_is_stored(Operation op, ScheduledOperands scheduled) {
  return op == Operation::kForward || (op == Operation::kInputGrad && scheduled == Operand::kG);
}

void check(const Layer& layer, const Settings& settings, const BruteConfig& config, std::uint64_t seed) {
  const auto machine = make_machine("tensordash-stored", settings);
  for (const Operation op : kOperations) {
    SCOPED_TRACE(layer.shape.describe() + " " + std::string(operation_name(op)) + " seed " +
                 std::to_string(seed));
    const OpResult fast = machine->simulate(layer, op, {Engine::kFast, seed});
    // Values pass through the stored form and must equal the reference convolution.
    ASSERT_EQ(machine->simulate(layer, op, {Engine::kFunctional, seed}), fast);
    const Operand rows = fast.scheduled == Operand::kA   ? Operand::kA
                         : fast.scheduled == Operand::kW ? Operand::kW
                                                         : Operand::kG;
    const bool stored = order_is_stored(op, fast.scheduled);
    BruteConfig brute = config;
    if (stored && rows != Operand::kW) {  // the channels of a position are scheduled by themselves
      const std::int64_t channels =
          op == Operation::kForward ? layer.shape.c_per_group() : layer.shape.k_per_group();
      brute.piece = (channels + brute.lanes - 1) / brute.lanes;
    }
    const BruteResult expected = brute_tensordash(layer, op, rows, brute);
    ASSERT_EQ(fast.activity->compute_cycles, expected.cycles);
    ASSERT_EQ(fast.scheduled_macs, expected.scheduled_macs);
    ASSERT_LE(expected.cycles, expected.dense_cycles);
    // No scheduler runs where the schedule was stored.
    if (expected.cycles > 0) {
      ASSERT_EQ(actions(fast, "schedulers_and_b_muxes") == 0, stored);
    }
    // Outputs wait for the backside schedulers: 16 of them in as many cycles as there are levels.
    const std::int64_t stalls = counter(fast, "backside_stall_cycles");
    ASSERT_EQ(fast.cycles, fast.activity->compute_cycles + stalls);
    if (op == Operation::kWeightGrad) {
      ASSERT_EQ(static_cast<double>(stalls) + actions(fast, "backside_schedulers"), 0);
    }
  }
}

TEST(StoredSchedule, FunctionalFastAndBruteForceAgree) {
  for (std::uint64_t seed = 1; seed <= random_cases(400); ++seed) {
    Random random(seed);
    const LayerShape shape = random_shape(random, {40, 5, 2});
    BruteConfig config;
    config.depth = static_cast<int>(random.integer(1, 3));
    config.rows = random.integer(1, 5);
    config.columns = random.integer(1, 4);
    config.tiles = random.integer(1, 4);
    config.lanes = random.chance(0.7) ? 16 : static_cast<int>(random.integer(4, 20));
    config.decoupled = random.chance(0.2);
    config.movements = brute_movements("paper", config.lanes, config.depth);
    const std::vector<std::string> policies{"sparser", "A", "W", "G"};
    const Settings settings{{"depth", std::to_string(config.depth)},
                            {"rows", std::to_string(config.rows)},
                            {"columns", std::to_string(config.columns)},
                            {"tiles", std::to_string(config.tiles)},
                            {"lanes", std::to_string(config.lanes)},
                            {"sync", config.decoupled ? "decoupled" : "lockstep"},
                            {"schedule", policies[static_cast<std::size_t>(random.integer(0, 3))]},
                            {"backside_schedulers", std::to_string(random.integer(1, 3))}};
    const Trace trace =
        random_trace(seed, shape, random.chance(0.3) ? SyntheticContent::kValues : SyntheticContent::kMasks);
    ASSERT_NO_FATAL_FAILURE(check(trace.layers()[0], settings, config, seed));
  }
}

// By hand: 16 tiles with one backside scheduler each take 16 outputs in 6 cycles.
TEST(StoredSchedule, OutputsWaitForTheBacksideSchedulers) {
  const Trace trace = dense_trace(LayerShape::conv2d(1, 64, 64, {16, 16}, {1, 1}));
  const auto cycles = [&](const Settings& settings) {
    return make_machine("tensordash-stored", settings)->simulate(trace.layers()[0], Operation::kForward);
  };
  // 256 positions of 4 blocks over 16 tiles are 64 blocks each; the tiles need 4 steps x 4 row groups x 16.
  EXPECT_EQ(cycles({}).activity->compute_cycles, 256);
  EXPECT_EQ(cycles({}).cycles, 64 * 6);
  EXPECT_EQ(cycles({}).activity->bound, Bound::kBackside);
  EXPECT_EQ(counter(cycles({}), "backside_stall_cycles"), 64 * 6 - 256);
  EXPECT_EQ(cycles({{"backside_schedulers", "2"}}).cycles, 256);
  EXPECT_EQ(cycles({{"backside_cycles", "1"}}).cycles, 256);
  EXPECT_EQ(cycles({{"stored", "weights"}}).cycles, 256);
  // 64 blocks x 16 tiles, 6 cycles of 3 lanes x 8 choices, and 16 multiplexers of 8 inputs once.
  EXPECT_EQ(actions(cycles({}), "backside_schedulers"), 1024 * (6 * 24 + 128));
  EXPECT_EQ(actions(cycles({{"backside_cycles", "1"}}), "backside_schedulers"), 1024 * (128 + 128));
}

TEST(StoredSchedule, WeightsAloneNeedNothingBehindThePes) {
  const auto has = [](const Settings& settings, const std::string& name) {
    const Hardware hardware = *make_machine("tensordash", settings)->hardware();
    return std::ranges::any_of(hardware.components, [&](const Component& c) { return c.name == name; });
  };
  const Settings weights{{"storage", "scheduled"}, {"stored", "weights"}};
  EXPECT_FALSE(has(weights, "backside_schedulers"));
  EXPECT_FALSE(has(weights, "staging_buffers"));
  EXPECT_TRUE(has(weights, "decompressors"));
  EXPECT_TRUE(has({{"storage", "scheduled"}}, "backside_schedulers"));
  EXPECT_TRUE(has({{"storage", "scheduled"}}, "staging_buffers"));
  EXPECT_FALSE(has({}, "decompressors"));
  EXPECT_THROW(make_machine("tensordash-2019", {{"storage", "scheduled"}}), InputError);
}

}  // namespace
}  // namespace lacuna::testing
