// Inference from stored tensors, and the scheduler that stores them.
#include "models/tensordash/storage/prescheduled.hpp"

#include <gtest/gtest.h>
#include <numeric>

#include "models/tensordash/engine/row_group.hpp"
#include "models/tensordash/storage/backside_load.hpp"
#include "models/tensordash/storage/backside_scheduler.hpp"
#include "models/tensordash/testing.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna::tensordash {
namespace {

// --- inference from stored tensors [TensorDash §3.6.1] ---

Matrix random_matrix(Random& random, std::int64_t rows, std::int64_t features, double zeros) {
  Matrix matrix{rows, features, std::vector<float>(static_cast<std::size_t>(rows * features), 0.0F)};
  for (float& value : matrix.data) {
    if (!random.chance(zeros))
      value = static_cast<float>(random.integer(1, 5) * (random.chance(0.5) ? 1 : -1));
  }
  return matrix;
}

std::int64_t dynamic_cycles(const Scheduler& scheduler, const float* a, const float* b,
                            std::int64_t features) {
  const int lanes = scheduler.connectivity().lanes();
  GroupWords words(1, (features + lanes - 1) / lanes, scheduler.connectivity().depth());
  for (std::int64_t i = 0; i < features; ++i) {
    if (a[i] != 0 && (b == nullptr || b[i] != 0)) words.row(0)[i / lanes] |= std::uint64_t{1} << (i % lanes);
  }
  return run_lockstep(scheduler, words);
}

TEST(Prescheduled, LinearLayersEqualTheReferenceInTheSchedulersCycles) {
  Random random(31);
  for (int trial = 0; trial < 100; ++trial) {
    const int lanes = static_cast<int>(random.integer(4, 64));
    const Scheduler scheduler(
        connect(Connectivity::names()[trial % 4], lanes, static_cast<int>(random.integer(1, 3))));
    const ScheduledCodec codec(scheduler.connectivity());
    const std::int64_t features = random.integer(1, 300);
    const Matrix weights = random_matrix(random, random.integer(1, 6), features, random.uniform());
    const Matrix activations = random_matrix(random, random.integer(1, 6), features, random.uniform());
    std::vector<float> reference;  // small integers: sums are exact
    for (std::int64_t n = 0; n < activations.rows; ++n) {
      for (std::int64_t k = 0; k < weights.rows; ++k)
        reference.push_back(
            std::inner_product(activations.row(n), activations.row(n) + features, weights.row(k), 0.0F));
    }
    const ScheduledMatrix stored_weights = schedule_matrix(codec, weights);
    const ScheduledMatrix stored_activations = schedule_matrix(codec, activations);

    const LinearResult by_weights = run_stored_weights(codec, stored_weights, activations);
    ASSERT_EQ(by_weights.outputs, reference);
    for (std::int64_t k = 0; k < weights.rows; ++k)
      ASSERT_EQ(by_weights.cycles.at(static_cast<std::size_t>(k)),
                dynamic_cycles(scheduler, weights.row(k), nullptr, features));

    const LinearResult by_activations = run_stored_activations(codec, weights, stored_activations);
    ASSERT_EQ(by_activations.outputs, reference);
    for (std::int64_t n = 0; n < activations.rows; ++n)
      ASSERT_EQ(by_activations.cycles.at(static_cast<std::size_t>(n)),
                dynamic_cycles(scheduler, activations.row(n), nullptr, features));

    const LinearResult both = run_stored_both(codec, scheduler, stored_weights, stored_activations);
    ASSERT_EQ(both.outputs, reference);
    for (std::int64_t n = 0; n < activations.rows; ++n) {
      for (std::int64_t k = 0; k < weights.rows; ++k)
        ASSERT_EQ(both.cycles.at(static_cast<std::size_t>(n * weights.rows + k)),
                  dynamic_cycles(scheduler, activations.row(n), weights.row(k), features));
    }
  }
}

// The sum over filters is what the accelerator model counts for a tile of one PE row with W scheduled.
TEST(Prescheduled, CyclesOfStoredWeightsAreTheModels) {
  const std::int64_t samples = 3, features = 100, filters = 12;
  SyntheticSpec spec;
  spec.content = SyntheticContent::kValues;
  spec.layers.push_back({"l", LayerShape::linear(samples, features, filters), 1, ZeroSpec::dense(),
                         ZeroSpec::uniform(0.7), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const Layer& layer = trace.layers().front();
  Params params("test", Config::params());
  params.set("rows", "1", "test");
  params.set("columns", "1", "test");
  params.set("tiles", "1", "test");
  params.set("schedule", "W", "test");
  const auto machine = AcceleratorRegistry::instance().find("tensordash")->make(params);
  const OpResult result = machine->simulate(layer, Operation::kForward, {});
  const ScheduledCodec codec(connect("paper", 16, 3));
  const Matrix weights{filters, features, tensor_values(layer.w, 1, 0).data};
  const Matrix activations{samples, features, tensor_values(layer.a, 1, 0).data};
  const LinearResult stored = run_stored_weights(codec, schedule_matrix(codec, weights), activations);
  EXPECT_EQ(std::accumulate(stored.cycles.begin(), stored.cycles.end(), std::int64_t{0}) * samples,
            result.cycles);
}

// --- backside scheduler [TensorDash §3.7] ---

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
      const Matrix block = random_matrix(random, 1, features, random.uniform());
      std::int64_t cycles = 0, idle = 0;
      // Blocks arrive one by one with time between them.
      for (std::int64_t at = 0; at < features; at += lanes) {
        backside.push(
            {block.row(0) + at, static_cast<std::size_t>(std::min<std::int64_t>(lanes, features - at))});
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
      const ScheduledGroup expected = codec.encode(vector_shape(features, lanes), block.data);
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
  const Config config = Config::from(Params("test", Config::params()));
  ASSERT_EQ(config.tile.tiles, 16);
  // 64 -> 64 channels, 3x3 on 16x16 positions: 256 positions x 4 blocks, 64 blocks per tile, 6 cycles each.
  const LayerShape shape = LayerShape::conv2d(1, 64, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1});
  const BacksideLoad load = backside_load(shape, Operation::kForward, 1000, config, {});
  EXPECT_EQ(load.outputs, 16384);
  EXPECT_EQ(load.blocks, 1024);
  EXPECT_EQ(load.schedule_cycles, 384);
  EXPECT_EQ(load.stalls(), 0);
  EXPECT_EQ(load.schedulers_needed, 1);
  EXPECT_DOUBLE_EQ(load.needed_rate, 16384.0 / 16 / 1000);
  EXPECT_DOUBLE_EQ(load.offered_rate, 16.0 / 6);
  const BacksideLoad hurried = backside_load(shape, Operation::kForward, 100, config, {});
  EXPECT_EQ(hurried.stalls(), 284);
  EXPECT_EQ(hurried.schedulers_needed, 4);
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config, {.schedulers = 3}).stalls(), 28);
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config, {.schedulers = 4}).stalls(), 0);
  EXPECT_EQ(backside_load(shape, Operation::kForward, 100, config, {.cycles_per_block = 1}).stalls(), 0);
  // Three channels fill three of a block's sixteen places.
  const LayerShape narrow = LayerShape::conv2d(1, 3, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1});
  EXPECT_DOUBLE_EQ(backside_load(narrow, Operation::kInputGrad, 100, config, {}).offered_rate, 0.5);
}

}  // namespace
}  // namespace lacuna::tensordash
