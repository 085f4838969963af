// The schedulers that put outputs into scheduled form [TensorDash §3.7].
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "models/tensordash/storage/backside_scheduler.hpp"
#include "models/tensordash/testing.hpp"

namespace lacuna::tensordash {
namespace {

TEST(Backside, GivesTheScheduledFormInOneCyclePerLevelAndRow) {
  Random random(41);
  for (int trial = 0; trial < 200; ++trial) {
    const int lanes = trial % 2 == 0 ? 16 : static_cast<int>(random.integer(4, 64));
    const Connectivity connectivity =
        connect(Connectivity::names()[trial % 4], lanes, static_cast<int>(random.integer(1, 3)));
    const ScheduledCodec codec(connectivity);
    BacksideScheduler backside(connectivity);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::int64_t features = random.integer(1, 200);
      const double zeros = random.uniform();
      std::vector<float> block(static_cast<std::size_t>(features), 0.0F);
      for (float& value : block) {
        if (!random.chance(zeros)) value = static_cast<float>(random.integer(-5, 5));
      }
      std::int64_t cycles = 0, idle = 0;
      // Blocks arrive one by one with time between them.
      for (std::int64_t at = 0; at < features; at += lanes) {
        backside.push(
            {block.data() + at, static_cast<std::size_t>(std::min<std::int64_t>(lanes, features - at))});
        for (std::int64_t wait = random.integer(0, 12); wait > 0 && backside.ready(); --wait) {
          backside.cycle();
          ++cycles;
        }
      }
      backside.end_group();
      while (!backside.done()) {
        backside.cycle();
        ++cycles;
        ASSERT_LT(++idle, 100000);
      }
      const ScheduledGroup expected = codec.encode(vector_shape(features, lanes), block);
      ASSERT_EQ(backside.take(), expected);
      ASSERT_EQ(cycles, expected.rows() * static_cast<std::int64_t>(connectivity.levels().size()));
    }
  }
}

TEST(Backside, TakesThePapersSixCyclesPerBlock) {
  BacksideScheduler backside(connect("paper", 16, 3));
  const std::vector<float> block(16, 1.0F);
  backside.push(block);
  EXPECT_FALSE(backside.ready());  // the window is not full and more may come
  EXPECT_FALSE(backside.cycle());
  backside.end_group();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(backside.cycle());
  EXPECT_TRUE(backside.cycle());
  EXPECT_TRUE(backside.done());
}

TEST(Backside, LoadOfALayer) {
  Config config = Config::from(Params("test", Config::params()));
  ASSERT_EQ(config.tile.tiles, 16);
  // 64 -> 64 channels, 3x3 on 16x16 positions: 256 positions x 4 blocks, 64 blocks per tile, 6 cycles each.
  const LayerShape shape = LayerShape::conv2d(1, 64, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1});
  const BacksideLoad load = backside_load(shape, Operation::kForward, 1000, config);
  EXPECT_EQ(load.outputs, 16384);
  EXPECT_EQ(load.blocks, 1024);
  EXPECT_EQ(load.schedule_cycles, 384);
  EXPECT_EQ(load.stalls(), 0);
  EXPECT_EQ(load.schedulers_needed, 1);
  EXPECT_DOUBLE_EQ(load.needed_rate, 16384.0 / 16 / 1000);
  EXPECT_DOUBLE_EQ(load.offered_rate, 16.0 / 6);
  const BacksideLoad hurried = backside_load(shape, Operation::kForward, 100, config);
  EXPECT_EQ(hurried.stalls(), 284);
  EXPECT_EQ(hurried.schedulers_needed, 4);
  // Three channels fill three of a block's sixteen places.
  const LayerShape narrow = LayerShape::conv2d(1, 3, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1});
  EXPECT_DOUBLE_EQ(backside_load(narrow, Operation::kInputGrad, 100, config).offered_rate, 0.5);
  config.backside_schedulers = 3;
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config).stalls(), 28);
  config.backside_schedulers = 4;
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config).stalls(), 0);
  config.backside_schedulers = 1;
  config.backside_cycles = 1;
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config).stalls(), 0);
}

}  // namespace
}  // namespace lacuna::tensordash
