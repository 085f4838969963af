#include "sim/without_zeros.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "sim/testing/random_layer.hpp"
#include "sim/trace_work.hpp"
#include "sim/workload/stream_classes.hpp"
#include "tensor/mask_view.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

// The layer as an operation of a trace multiplies it.
const Layer& multiplied(const TraceWork& work, std::size_t layer, Operation op) {
  const auto at = std::ranges::find_if(
      work.jobs(), [&](const auto& job) { return job->layer == layer && job->work.op == op; });
  return (*at)->multiplied;
}

// Everything follows from the elements: a machine cannot tell it from a recording without zeros.
TEST(WithoutZeros, EveryElementIsOneAndTheRestStaysAsRecorded) {
  const LayerShape shape = LayerShape::conv2d(2, 20, 9, {5, 4}, {3, 3}, {1, 1}, {1, 1});
  const Trace trace = testing::random_trace(3, shape, SyntheticContent::kValues);
  const Trace full = trace_without_zeros(trace);
  EXPECT_EQ(full.path(), trace.path());
  EXPECT_EQ(full.batch(), trace.batch());
  EXPECT_EQ(full.stored_bytes(), trace.stored_bytes());
  const Layer& layer = full.layers()[0];
  EXPECT_EQ(layer.name, trace.layers()[0].name);
  EXPECT_TRUE(has_no_zeros(layer));
  for (const Operand role : {Operand::kA, Operand::kW, Operand::kG}) {
    const LayerTensor& tensor = layer.tensor(role);
    EXPECT_EQ(count_nonzeros(tensor.mask), tensor.elements());
    EXPECT_EQ(tensor.nonzeros, tensor.elements());
    EXPECT_EQ(tensor.elements(), trace.layers()[0].tensor(role).elements());
    EXPECT_FALSE(tensor.values);
  }
}

// Full tensors are known to be full, whatever the trace stores; the rest stays as it is.
TEST(WithoutZeros, FullTensorsAreKnown) {
  const LayerShape shape = LayerShape::linear(3, 20, 9);
  TraceBuilder builder("t");
  std::vector<bool> holed(60, true);
  holed[59] = false;
  builder.add_layer("l", shape)
      .mask(Operand::kA, std::vector<bool>(60, true))
      .mask(Operand::kG, std::vector<bool>(27, true));
  builder.add_layer("m", shape).mask(Operand::kA, holed);
  const Trace trace = builder.build();
  EXPECT_FALSE(trace.layers()[0].a.mask.no_zeros());
  const TraceWork work(trace);
  const Layer& full = multiplied(work, 0, Operation::kWeightGrad);
  for (const Operand role : {Operand::kA, Operand::kW, Operand::kG}) {
    const LayerTensor& tensor = full.tensor(role);
    EXPECT_TRUE(tensor.mask.no_zeros());
    EXPECT_EQ(count_nonzeros(tensor.mask), tensor.elements());
  }
  EXPECT_TRUE(has_no_zeros(full));
  const Layer& with_hole = multiplied(work, 1, Operation::kWeightGrad);
  EXPECT_FALSE(with_hole.a.mask.no_zeros());
  EXPECT_FALSE(has_no_zeros(with_hole));
}

TEST(WithoutZeros, ForwardHasItsOwnA) {
  const LayerShape shape = LayerShape::linear(3, 20, 9);
  TraceBuilder builder("t");
  std::vector<bool> few(60, false);
  few[7] = true;
  builder.add_layer("l", shape).mask(Operand::kA, few).mask(kAForward, std::vector<bool>(60, true));
  const Trace trace = builder.build();
  const TraceWork work(trace);
  EXPECT_TRUE(multiplied(work, 0, Operation::kForward).a.mask.no_zeros());
  EXPECT_EQ(multiplied(work, 0, Operation::kForward).a.nonzeros, 60);
  EXPECT_EQ(multiplied(work, 0, Operation::kWeightGrad).a.nonzeros, 1);
  const Trace full = trace_without_zeros(trace);
  EXPECT_FALSE(full.layers()[0].a_forward);
  EXPECT_EQ(full.layers()[0].a.nonzeros, 60);
  EXPECT_EQ(trace.layers()[0].as_multiplied(Operation::kInputGrad).a.nonzeros, 60);
}

// Streams and groups that are said to be alike are, word by word, and there are no more kinds than needed
// where only the border tells them apart.
TEST(WithoutZeros, StreamsOfAKindHoldTheSameWords) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 7, 2});
    const Trace full = trace_without_zeros(trace);
    for (const Operation op : kOperations) {
      const VisitOrder order = seed % 2 == 0 ? VisitOrder::kRowMajor : VisitOrder::kColumnMajor;
      for (const LaneProduct& product : lane_products(full.layers()[0], op, 16, order)) {
        for (const OperandStreams* streams : {&product.primary, &product.secondary}) {
          ASSERT_TRUE(has_no_zeros(*streams));
          const auto same = [&](std::int64_t a, std::int64_t b) {
            for (std::int64_t step = 0; step < streams->steps(); ++step) {
              const std::uint64_t other = b < streams->count() ? streams->word(b, step) : 0;
              if (streams->word(a, step) != other) return false;
            }
            return true;
          };
          const Alike alike = alike_streams(*streams);
          for (std::int64_t i = 0; i < streams->count(); ++i) {
            ASSERT_TRUE(same(i, alike.first[alike.kind[static_cast<std::size_t>(i)]]));
          }
          const Alike groups = alike_groups(*streams, 4);
          for (std::int64_t i = 0; i < streams->count(); ++i) {
            const std::int64_t like = groups.first[groups.kind[static_cast<std::size_t>(i / 4)]];
            ASSERT_TRUE(same(i, 4 * like + i % 4));
          }
        }
      }
    }
  }
  const Trace trace =
      testing::random_trace(1, LayerShape::conv2d(2, 16, 16, {56, 56}, {3, 3}, {1, 1}, {1, 1}));
  const Trace full = trace_without_zeros(trace);
  const LaneProduct product = lane_products(full.layers()[0], Operation::kForward, 16).front();
  EXPECT_EQ(alike_streams(product.primary).first.size(), 9u);  // inside, four edges, four corners
  EXPECT_EQ(alike_streams(product.secondary).first.size(), 1u);
}

}  // namespace
}  // namespace lacuna
