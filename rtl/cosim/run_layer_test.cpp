// The tile that runs a layer, from memory image to memory image, on small layers of every geometry: results
// equal those of the functional engine (and with it the reference convolution) in every value, the tile's
// cycles those of both engines.
#include <bit>
#include <cstdlib>

#include "Vlayer_small.h"
#include "layer_run_check.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::rtl {
namespace {

using Register = LayerRegister;
using Driver = LayerTileDriver<Vlayer_small>;

constexpr LayerTileInfo kTile{2, 3, 32, 32};

// Geometries that the tile takes: strides are powers of two.
LayerShape random_tile_shape(Random& random) {
  for (;;) {
    const LayerShape shape =
        lacuna::testing::random_shape(random, {.channels = 40, .plane = 7, .samples = 2});
    if (shape.stride.h != 3 && shape.stride.w != 3) return shape;
  }
}

std::vector<LayerRun> random_runs(std::uint64_t seed) {
  Random random(seed);
  const Trace trace = lacuna::testing::random_trace(seed, random_tile_shape(random));
  std::vector<LayerRun> runs;
  for (const Operation op : kOperations) runs.push_back(layer_run(trace.layers().front(), op, kTile, seed));
  return runs;
}

TEST(RunLayer, RandomGeometries) {
  Driver driver(16, 1, 0.3);
  const std::uint64_t layers = std::getenv("LACUNA_RTL_FULL") != nullptr ? 1000 : 30;
  for (std::uint64_t seed = 1; seed <= layers; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (const LayerRun& run : random_runs(seed)) {
      check_run(driver, run);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A layer whose blocks fill the scratchpads' halves several times.
LayerRun sample_run(Operation op = Operation::kForward) {
  const LayerShape shape = LayerShape::conv2d(2, 20, 26, {6, 7}, {3, 3}, {1, 1}, {1, 1});
  const Trace trace = lacuna::testing::random_trace(5, shape);
  return layer_run(trace.layers().front(), op, kTile, 5);
}

void start(Driver& driver, const LayerLaunch& launch) {
  driver.configure(launch.registers);
  driver.load(false, launch.am);
  driver.load(true, launch.bm);
  driver.start();
}

TEST(RunLayer, BypassTakesDenseCycles) {
  Driver driver(16, 2, 0);
  LayerRun run = sample_run();
  constexpr std::uint32_t kAlways = 2U << 4;
  run.launches.front().registers.front() = (run.launches.front().registers.front() & 0xfU) | kAlways;
  start(driver, run.launches.front());
  ASSERT_TRUE(driver.wait(100'000));
  EXPECT_EQ(driver.read(Register::kStatus), Register::kDone | Register::kBypassed);
  EXPECT_EQ(driver.read(Register::kIssued), run.dense_cycles);
  check_result(driver, run.launches.front().result);
}

// [TensorDash §3.5]: the share of zeros in BM decides.
TEST(RunLayer, ZeroCounterDecides) {
  Driver driver(16, 3, 0);
  LayerRun run = sample_run();
  LayerLaunch& launch = run.launches.front();
  launch.registers.front() &= 0xfU;  // automatic
  const double share =
      65536.0 * static_cast<double>(launch.bm.zeros()) / static_cast<double>(launch.bm.elements());
  for (const bool pays : {true, false}) {
    driver.write(Register::kThreshold, static_cast<std::uint32_t>(share) + (pays ? 0 : 2));
    start(driver, launch);
    ASSERT_TRUE(driver.wait(100'000));
    EXPECT_EQ(driver.read(Register::kStatus), Register::kDone | (pays ? 0U : Register::kBypassed));
    EXPECT_EQ(driver.read(Register::kIssued), pays ? run.cycles : run.dense_cycles);
    check_result(driver, launch.result);
  }
}

TEST(RunLayer, ResetsInMidRunLeaveNothingBehind) {
  Driver driver(16, 4, 0);
  Random random(4);
  for (const Operation op : kOperations) {
    const LayerRun run = sample_run(op);
    for (int i = 0; i < 4; ++i) {
      start(driver, run.launches.front());
      ASSERT_FALSE(driver.wait(random.integer(1, 900))) << "the operation is too short for this test";
      driver.reset();
      ASSERT_EQ(driver.read(Register::kStatus), 0);
    }
    check_run(driver, run);
    if (::testing::Test::HasFailure()) return;
  }
}

// Blocks are cut where the tensor ends, whatever lies behind it.
TEST(RunLayer, PaddingInMemoryDoesNotMatter) {
  Driver driver(16, 7, 0);
  for (const Operation op : kOperations) {
    LayerLaunch launch = sample_run(op).launches.front();
    for (MemoryImage* image : {&launch.am, &launch.bm}) {
      for (std::size_t i = 0; i < image->values.size(); ++i) {
        if (((image->keep[i / 16] >> (i % 16)) & 1) == 0) image->values[i] = 5;
      }
      image->keep.assign(image->keep.size(), 0xffff);
    }
    start(driver, launch);
    ASSERT_TRUE(driver.wait(100'000));
    check_result(driver, launch.result);
  }
}

TEST(RunLayer, BlocksThatDoNotFitAreRefused) {
  Driver driver(16, 5, 0);
  LayerRun run = sample_run();
  LayerLaunch& launch = run.launches.front();
  const std::uint32_t blocks = launch.registers.back();
  for (const std::uint32_t wrong :
       {blocks + 0x00200000U, blocks + 0x20U, blocks & 0xffffU, blocks & 0xffff0000U}) {
    launch.registers.back() = wrong;
    driver.configure(launch.registers);
    driver.start();
    ASSERT_TRUE(driver.wait(100));
    EXPECT_EQ(driver.read(Register::kStatus), Register::kDone | Register::kError);
    EXPECT_EQ(driver.read(Register::kIssued), 0);
  }
  launch.registers.back() = blocks;
  check_run(driver, run);
}

TEST(RunLayer, RegistersAnswer) {
  Driver driver(16, 6, 0.5);
  EXPECT_EQ(driver.read(Register::kId), 0x54444c31);
  EXPECT_EQ(driver.read(Register::kTile), 0x02031003);
  for (unsigned address = Register::kOperation; address <= Register::kThreshold; address += 4) {
    EXPECT_EQ(driver.read(address), 0) << "after reset";
    EXPECT_TRUE(driver.write(address, address * 0x01010101U));
  }
  for (unsigned address = Register::kOperation; address <= Register::kThreshold; address += 4)
    EXPECT_EQ(driver.read(address), address * 0x01010101U);
  EXPECT_FALSE(driver.write(Register::kThreshold, 1, 0x7)) << "part of a word";
  EXPECT_FALSE(driver.write(Register::kThreshold + 1, 1)) << "not aligned";
  EXPECT_FALSE(driver.write(Register::kCycles, 1)) << "read only";
  EXPECT_FALSE(driver.write(0x800, 1)) << "no register";
  EXPECT_EQ(driver.read(Register::kThreshold), Register::kThreshold * 0x01010101U);

  const LayerRun run = sample_run();
  start(driver, run.launches.front());
  EXPECT_EQ(driver.read(Register::kStatus), Register::kBusy);
  EXPECT_FALSE(driver.write(Register::kOperation, 0)) << "while an operation runs";
  ASSERT_TRUE(driver.wait(100'000));
  check_result(driver, run.launches.front().result);
}

}  // namespace
}  // namespace lacuna::rtl
