#include "sim/workload/potential.hpp"

#include <gtest/gtest.h>

#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

// Two layers small enough to count by hand: 1x1, no borders.
TEST(Potential, CountsByHand) {
  TraceBuilder builder("t");
  builder.info().batch = 4;
  builder
      .add_layer("first", LayerShape::linear(2, 4, 3))  // 24 MACs
      .mask(Operand::kA, {1, 0, 0, 0, 1, 1, 0, 0})      // 3 of 8: 9 MACs remain in forward
      .mask(Operand::kG, {1, 0, 0, 0, 0, 0});           // 1 of 6: 4 MACs remain in weight_grad
  builder
      .add_layer("second", LayerShape::linear(1, 2, 2))  // 4 MACs
      .mask(Operand::kW, {0, 0, 0, 0})
      .mask(Operand::kG, {1, 0});
  const Trace trace = builder.build();
  const TracePotential result = trace_potential(trace, OperandRule::kSparser);

  ASSERT_EQ(result.layers.size(), 2u);
  const auto& first = result.layers[0];
  ASSERT_EQ(first.ops.size(), 2u);  // no input gradient
  EXPECT_EQ(first.batch_scale, 2);
  EXPECT_EQ(first.ops[0].targeted, Operand::kA);
  EXPECT_EQ(first.ops[0].macs.macs, 24);
  EXPECT_EQ(first.ops[0].macs.remaining, 9);
  EXPECT_EQ(first.ops[1].op, Operation::kWeightGrad);
  EXPECT_EQ(first.ops[1].targeted, Operand::kG);
  EXPECT_EQ(first.ops[1].macs.remaining, 4);
  EXPECT_EQ(first.ops[1].macs.effectual, 1);  // G's one non-zero meets one non-zero of its row of A
  EXPECT_EQ(first.ops[1].macs.speedup(), 6.0);

  const auto& second = result.layers[1];
  ASSERT_EQ(second.ops.size(), 3u);
  EXPECT_EQ(second.batch_scale, 4);
  EXPECT_EQ(second.ops[0].targeted, Operand::kW);
  EXPECT_EQ(second.ops[0].macs.remaining, 0);
  EXPECT_FALSE(second.ops[0].macs.speedup().has_value());
  EXPECT_EQ(second.ops[1].targeted, Operand::kW);
  EXPECT_EQ(second.ops[2].macs.remaining, 2);

  EXPECT_EQ(result.recorded.ops[Operation::kForward].macs, 28);
  EXPECT_EQ(result.recorded.all.macs, 24 * 2 + 4 * 3);
  EXPECT_EQ(result.recorded.all.remaining, 9 + 4 + 0 + 0 + 2);
  EXPECT_EQ(result.per_batch.all.remaining, 2 * (9 + 4) + 4 * (0 + 0 + 2));
  EXPECT_DOUBLE_EQ(result.zero_share(Operand::kA), (48 * 5.0 / 8 + 16 * 0.0) / 64);

  const TracePotential primary = trace_potential(trace, OperandRule::kPrimary);
  EXPECT_EQ(primary.layers[1].ops[0].targeted, Operand::kA);
  EXPECT_EQ(primary.layers[1].ops[0].macs.remaining, 4);
}

TEST(Potential, CountsTheOperationsThatWereRecorded) {
  TraceBuilder builder("t");
  const LayerShape shape = LayerShape::linear(2, 4, 3);
  builder.add_layer("frozen", shape).operations(PerOperation<bool>{true, false, false});
  builder.add_layer("adapter", shape);
  const TracePotential result = trace_potential(builder.build(), OperandRule::kSparser);
  ASSERT_EQ(result.layers[0].ops.size(), 1u);
  EXPECT_EQ(result.layers[0].ops[0].op, Operation::kForward);
  EXPECT_EQ(result.recorded.all.macs, 24 * (1 + 3));
}

// The shares of zeros that the recorder of the traces noted, weighted by MACs.
TEST(Potential, SharesOfTheShippedTraces) {
  const Trace alexnet = Trace::open(LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst");
  const TracePotential a = trace_potential(alexnet, OperandRule::kSparser);
  EXPECT_NEAR(a.zero_share(Operand::kA), 0.57, 0.005);
  EXPECT_NEAR(a.zero_share(Operand::kG), 0.88, 0.005);
  const Trace squeezenet = Trace::open(LACUNA_SOURCE_DIR "/data/squeezenet_p100.safetensors.zst");
  const TracePotential s = trace_potential(squeezenet, OperandRule::kSparser);
  EXPECT_NEAR(s.zero_share(Operand::kA), 0.47, 0.005);
  EXPECT_NEAR(s.zero_share(Operand::kG), 0.67, 0.005);
  EXPECT_GT(s.per_batch.all.speedup(), 2.0);  // [TensorDash Fig. 1: SqueezeNet above 2x]
}

}  // namespace
}  // namespace lacuna
