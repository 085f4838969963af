#include "sim/work_estimate.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/simulation.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

class Fixed final : public Accelerator {
 public:
  explicit Fixed(double steps) : steps_(steps) {}
  const Params& params() const override { return params_; }
  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions&) const override {
    OpResult result;
    result.op = work.op;
    return result;
  }
  double work(const LayerShape&) const override { return steps_; }

 private:
  Params params_{"fixed", {}};
  double steps_;
};

Trace trace_of(bool recorded) {
  TraceBuilder builder("t");
  builder.add_layer("a\nb", LayerShape::linear(2, 8, 8));
  if (recorded) builder.mask(Operand::kA, std::vector<bool>(16, true));
  return builder.build();
}

std::string refusal(const Trace& trace, double steps, Engine engine = Engine::kFast) {
  try {
    check_work(trace, Fixed(steps), engine);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(WorkEstimate, WhatIsStoredMayTakeLonger) {
  ASSERT_EQ(trace_of(false).stored_bytes(), 0);
  ASSERT_EQ(trace_of(true).stored_bytes(), 2);
  EXPECT_EQ(refusal(trace_of(false), kFreeSteps), "");
  EXPECT_NE(refusal(trace_of(false), kFreeSteps + 1), "");
  EXPECT_EQ(refusal(trace_of(true), kFreeSteps + 2 * kStepsPerStoredByte), "");
  EXPECT_NE(refusal(trace_of(true), kFreeSteps + 2 * kStepsPerStoredByte + 1), "");
  EXPECT_EQ(refusal(trace_of(false), kFreeSteps, Engine::kFunctional), "");
  EXPECT_NE(refusal(trace_of(false), 2 * kFreeSteps, Engine::kFunctional), "");
}

// A mask of one repeated piece takes few bytes compressed and 0.8 MB in memory. What counts is the file.
TEST(WorkEstimate, CompressedBytesCountAsStored) {
  const LayerShape shape = LayerShape::conv2d(1, 8, 8, {509, 509}, {255, 255});
  TraceBuilder builder("small");
  builder.add_layer("l", shape);
  for (const Operand role : {Operand::kA, Operand::kW, Operand::kG}) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(TensorExtent::of(shape, role).mask_bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 509 * 41);
    builder.packed_mask(role, bytes);
  }
  const Trace built = builder.build();
  const TemporaryFolder folder;
  write_trace(built, folder / "small.safetensors");
  write_trace(built, folder / "small.safetensors.zst");
  const Trace plain = Trace::open(folder / "small.safetensors");
  const Trace packed = Trace::open(folder / "small.safetensors.zst");
  EXPECT_LT(packed.stored_bytes(), 13000);
  EXPECT_GT(plain.stored_bytes(), 840000);
  const double steps = 2e10;
  EXPECT_EQ(refusal(plain, steps), "");
  const std::string message = refusal(packed, steps);
  EXPECT_NE(message.find("a file of " + std::to_string(packed.stored_bytes()) + " bytes may take"),
            std::string::npos)
      << message;
}

TEST(WorkEstimate, TheMessageNamesTheLayerInOneLine) {
  const std::string message = refusal(trace_of(false), 1e12);
  EXPECT_TRUE(message.starts_with("t: layer 'a\\x0ab': its 2 samples of linear 8->8 x2 would take"))
      << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(WorkEstimate, SimulateTraceAsksFirst) {
  EXPECT_THROW(simulate_trace(trace_of(false), Fixed(1e12), "fixed", {}, 1), InputError);
  EXPECT_EQ(simulate_trace(trace_of(false), Fixed(1), "fixed", {}, 1).layers.size(), 1u);
}

// By hand: the words of both operands of each operation, as operand_streams.hpp cuts them.
TEST(WorkEstimate, TileWordsByHand) {
  // forward: 2 rows and 3 filters of 1 word; input_grad: 2 and 20; weight_grad: 3 and 20. Each stream has 3
  // its own steps.
  EXPECT_EQ(tile_words(LayerShape::linear(2, 20, 3), 32), (5 + 22 + 23) * (1 + 3));
  // 4x4 inputs, 2x2 outputs of 3x3 kernels; 2 groups of 16 -> 16 channels
  const LayerShape conv = LayerShape::conv2d(1, 32, 32, {4, 4}, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 2);
  EXPECT_EQ(tile_words(conv, 16), (4 * 2 + 32) * 12 + (16 * 2 + 32) * 12 + (32 + 9 * 32) * 4);
}

TEST(WorkEstimate, ProductsGrowWithGroupsAndPhases) {
  const LayerShape plain = LayerShape::conv2d(1, 8, 8, {4, 4}, {1, 1});
  EXPECT_EQ(tile_products(plain), 3 * 268);
  const LayerShape strided = LayerShape::conv2d(1, 8, 8, {4, 4}, {1, 1}, {2, 9}, {0, 0}, {1, 1}, 4);
  EXPECT_EQ(tile_products(strided), 4 * (2 + 2 * 4) * 268);
}

}  // namespace
}  // namespace lacuna
