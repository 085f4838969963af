#include "trace/trace.hpp"

#include <gtest/gtest.h>

#include "trace/rounding.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

TEST(Trace, ReadsTheLayersOfTheTests) {
  const std::filesystem::path folder = LACUNA_SOURCE_DIR "/tests/data/authors_simulator";
  for (const char* name : {"S", "M", "A", "B", "B8"}) {
    const Trace trace = Trace::open(folder / (std::string(name) + ".safetensors.zst"));
    ASSERT_EQ(trace.layers().size(), 2u) << name;
    const Layer& layer = trace.layers()[1];
    EXPECT_EQ(layer.shape.kernel, (Size2{3, 3})) << name;
    EXPECT_NEAR(layer.a.zero_share(), 0.6, 0.02) << name;
    EXPECT_NEAR(layer.g.zero_share(), 0.6, 0.02) << name;
    EXPECT_EQ(layer.w.zeros(), 0) << name;
  }
}

TEST(Trace, ReadsRecordedTraces) {
  const Trace alexnet = Trace::open(LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst");
  EXPECT_EQ(alexnet.info().model, "alexnet");
  EXPECT_EQ(alexnet.info().progress, 1.0);
  EXPECT_EQ(alexnet.info().accuracy, 0.8374);
  EXPECT_EQ(alexnet.batch(), 64);
  ASSERT_EQ(alexnet.layers().size(), 8u);
  EXPECT_EQ(alexnet.batch_scale(alexnet.layers().front()), 32);
  EXPECT_EQ(alexnet.batch_scale(alexnet.layers().back()), 1);
  const Trace squeezenet = Trace::open(LACUNA_SOURCE_DIR "/data/squeezenet_p100.safetensors.zst");
  EXPECT_EQ(squeezenet.layers().size(), 26u);
}

TEST(TraceBuilder, MasksBitsAndDefaults) {
  TraceBuilder builder("built");
  builder.add_layer("conv", LayerShape::conv2d(1, 3, 2, {1, 2}, {1, 1}))
      .mask(Operand::kA, {true, false, true, false, false, true})
      .values(Operand::kW, std::vector<float>{1, 0, -0.0F, 2, 3, 0});
  const Trace trace = builder.build();
  const Layer& layer = trace.layers().at(0);
  EXPECT_EQ(layer.a.nonzeros, 3);
  EXPECT_EQ(layer.a.mask.row(0)[0], 0b101);
  EXPECT_EQ(layer.a.mask.row(1)[0], 0b100);
  EXPECT_EQ(layer.w.mask.row(0)[0], 0b001);
  EXPECT_EQ(layer.w.mask.row(1)[0], 0b011);
  EXPECT_EQ(layer.w.values.at(1, 1), 3.0F);
  EXPECT_EQ(layer.g.zeros(), 0);
  EXPECT_EQ(layer.g.mask.row_bytes, 0);
  EXPECT_EQ(layer.g.mask.row(1)[0], 0b11);
}

TEST(Synthetic, SharesPatternsAndSeeds) {
  SyntheticSpec spec;
  const LayerShape shape = LayerShape::conv2d(2, 37, 21, {17, 19}, {3, 2}, {2, 1}, {1, 0});
  spec.layers.push_back({.name = "conv",
                         .shape = shape,
                         .a = ZeroSpec::uniform(0.3),
                         .w = ZeroSpec::dense(),
                         .g = ZeroSpec::by_channel(0.7)});
  spec.layers.push_back({.name = "zero",
                         .shape = LayerShape::linear(5, 9, 10),
                         .a = ZeroSpec::all_zero(),
                         .w = ZeroSpec::uniform(0.9),
                         .g = ZeroSpec::uniform(0)});
  const Trace trace = make_synthetic(spec);
  EXPECT_NEAR(trace.layers()[0].a.zero_share(), 0.3, 0.02);
  EXPECT_NEAR(trace.layers()[0].g.zero_share(), 0.7, 0.05);
  EXPECT_EQ(trace.layers()[0].w.zeros(), 0);
  EXPECT_EQ(trace.layers()[1].a.nonzeros, 0);
  EXPECT_EQ(trace.layers()[1].g.zeros(), 0);

  // Clustered: the shares of single channels differ far more than independent zeros would.
  const MaskView& g = trace.layers()[0].g.mask;
  double lowest = 1;
  double highest = 0;
  for (std::int64_t c = 0; c < g.channels; ++c) {
    std::int64_t zeros = 0;
    for (std::int64_t r = 0; r < g.rows; ++r) zeros += g.bit(r, c) ? 0 : 1;
    const double share = static_cast<double>(zeros) / static_cast<double>(g.rows);
    lowest = std::min(lowest, share);
    highest = std::max(highest, share);
  }
  EXPECT_GT(highest - lowest, 0.3);

  const Trace same = make_synthetic(spec);
  spec.seed = 2;
  const Trace other = make_synthetic(spec);
  const auto bytes = [](const Trace& t) {
    const MaskView& mask = t.layers()[0].a.mask;
    return std::vector<std::uint8_t>(mask.data, mask.data + mask.rows * mask.row_bytes);
  };
  EXPECT_EQ(bytes(trace), bytes(same));
  EXPECT_NE(bytes(trace), bytes(other));

  spec.content = SyntheticContent::kValues;
  spec.type = DataType::kBfloat16;
  const Trace valued = make_synthetic(spec);
  EXPECT_EQ(bytes(valued), bytes(other));  // the same zeros with and without values
  for (const Layer& layer : valued.layers()) {
    for (const Operand role : kOperands) EXPECT_TRUE(layer.tensor(role).values);
  }
}

// The smallest bfloat16 is 9.2e-41; half of it is a tie and rounds to the even zero.
TEST(Rounding, ZerosOfANarrowerType) {
  TraceBuilder builder("small");
  builder.add_layer("fc", LayerShape::linear(1, 3, 2));
  builder.values(Operand::kA, std::vector<float>{1e-41F, -3e38F, 9.2e-41F});
  builder.values(Operand::kW, std::vector<float>{1, 2, 3, 4, 5, 6});
  builder.values(Operand::kG, std::vector<float>{-1e-42F, 0.5F});
  const Trace trace = builder.build();
  EXPECT_FALSE(rounded_to(trace, DataType::kFp32));
  std::optional<Trace> rounded = rounded_to(trace, DataType::kBfloat16);
  ASSERT_TRUE(rounded);
  const Layer& layer = rounded->layers()[0];
  EXPECT_EQ(layer.a.mask.row(0)[0], 0b110);
  EXPECT_EQ(layer.a.nonzeros, 2);
  EXPECT_EQ(layer.a.values.at(0, 0), 0.0F);
  EXPECT_EQ(layer.g.mask.row(0)[0], 0b10);
  EXPECT_EQ(layer.w.nonzeros, 6);
  EXPECT_EQ(trace.layers()[0].a.nonzeros, 3);
  EXPECT_FALSE(rounded_to(*rounded, DataType::kBfloat16));
}

}  // namespace
}  // namespace lacuna
