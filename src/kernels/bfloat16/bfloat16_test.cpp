// The bfloat16 kernels against the double-precision reference: tiles, with AMX where the CPU has it and
// emulated, and oneDNN's pairs on CPUs without AMX.
#include "tensor/bfloat16.hpp"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "kernels/bfloat16/tile_kernels.hpp"
#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

class Bfloat16Kernels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "amx" && !amx_available()) GTEST_SKIP() << "this CPU has no AMX";
    if (GetParam() == "pairs" && bfloat16_unit() != Bfloat16Unit::kPairs)
      GTEST_SKIP() << "this CPU has no AVX512-BF16, or AMX";
  }
  const TileKernels& tiles() const {
#if defined(__x86_64__)
    if (GetParam() == "amx") return kAmxTiles;
#endif
    return kPortableTiles;
  }
  ConvOptions options(Operation op) const {
    ConvOptions o;
    o.op = op;
    o.impl = Impl::kBfloat16;
    o.layout = Layout::kBlocked;
    o.isa = GetParam() == "portable" ? "portable" : "";
    return o;
  }
};

void round_all(AlignedFloats& values) {
  for (std::int64_t i = 0; i < values.size(); ++i) values[i] = round_to_bfloat16(values[i]);
}

// On operands that bfloat16 can hold, results are as exact as those of single precision.
void check_rounded(const LayerShape& shape, const ConvOptions& options, std::uint64_t seed) {
  check_against_reference(shape, options, 0.3, seed, kTolerance, [](PlanTensors& data) {
    round_all(data.src);
    round_all(data.dst);
    round_all(data.plain_weights);
  });
}

TEST_P(Bfloat16Kernels, ProductsOfRoundedOperandsAreExactToTheUsualRounding) {
  std::uint64_t seed = 1;
  for (const Case& c : cases()) {
    if (c.groups > 1) continue;
    ++seed;
    if (GetParam() == "portable" && seed % 7 != 0) continue;  // slow
    for (const Operation op : kOperations) {
      ConvOptions o = options(op);
      o.threads = 1 + static_cast<int>(seed % 3);
      o.weights = seed % 2 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
      o.bias = o.relu = op == Operation::kForward && seed % 5 < 2;
      check_rounded(c.shape(), o, seed);
    }
  }
}

TEST_P(Bfloat16Kernels, RandomShapes) {
  Random random(20);
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
  for (int i = 0; i < (GetParam() == "portable" ? 3 : 25); ++i) {
    const Size2 kernel{draw(1, 4), draw(1, 4)}, dilation{draw(1, 2), draw(1, 2)};
    const Size2 input{draw(1, 20) + kernel.h * dilation.h, draw(1, 30) + kernel.w * dilation.w};
    const LayerShape shape =
        LayerShape::conv2d(draw(1, 4), draw(1, 50), draw(1, 50), input, kernel, {draw(1, 3), draw(1, 3)},
                           {draw(0, kernel.h), draw(0, kernel.w)}, dilation);
    for (const Operation op : kOperations)
      check_rounded(shape, options(op), 100 + static_cast<std::uint64_t>(i));
  }
}

// No input is at the places that some taps alone would reach.
TEST_P(Bfloat16Kernels, StridesLargerThanTheImage) {
  for (const Operation op : kOperations) {
    check_rounded(LayerShape::conv2d(2, 20, 18, {2, 9}, {1, 3}, {3, 3}, {1, 1}), options(op), 8);
    check_rounded(LayerShape::conv2d(1, 5, 40, {3, 2}, {3, 4}, {4, 5}, {2, 3}), options(op), 9);
  }
}

// Several units of rows, of images and of channels.
TEST_P(Bfloat16Kernels, LargeLayers) {
  if (GetParam() == "portable") GTEST_SKIP() << "slow";
  const std::vector<LayerShape> shapes = {LayerShape::conv2d(2, 33, 8, {40, 110}, {3, 3}, {1, 1}, {1, 1}),
                                          LayerShape::conv2d(42, 512, 5, {14, 14}, {1, 1}),
                                          LayerShape::linear(900, 96, 40)};
  for (const LayerShape& shape : shapes)
    for (const Operation op : kOperations) check_rounded(shape, options(op), 7);
}

TEST_P(Bfloat16Kernels, ChannelsLast) {
  for (const Operation op : kOperations) {
    ConvOptions o = options(op);
    o.layout = Layout::kNhwc;
    check_rounded(LayerShape::conv2d(2, 48, 32, {5, 7}, {3, 3}, {1, 1}, {1, 1}), o, 3);
    check_rounded(LayerShape::conv2d(3, 16, 80, {6, 5}, {3, 3}, {2, 2}, {1, 1}), o, 4);
  }
}

// Each factor is off by at most one part in 2^9.
TEST_P(Bfloat16Kernels, RoundingOfOperandsIsBounded) {
  for (const Operation op : kOperations) {
    check_against_reference(LayerShape::conv2d(2, 64, 64, {9, 9}, {3, 3}, {1, 1}, {1, 1}), options(op), 0.5,
                            5, 0x1.01p-8);
    check_against_reference(LayerShape::linear(20, 64, 64), options(op), 0.5, 6, 0x1.01p-8);
  }
}

TEST_P(Bfloat16Kernels, ConversionsRoundToNearestEven) {
  if (GetParam() == "pairs") GTEST_SKIP() << "oneDNN converts";
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F,
                               std::bit_cast<float>(0x3f808000U),  // ties
                               std::bit_cast<float>(0x3f818000U),
                               std::bit_cast<float>(0x3f808001U),
                               std::bit_cast<float>(0xbf807fffU),
                               std::numeric_limits<float>::max(),  // infinity
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::min()};
  Random random(4);
  while (values.size() < 16 * 70) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    if (std::isnormal(value)) values.push_back(value);
  }
  alignas(64) Bfloat16 lines[70 * 32];
  tiles().to_lines(values.data(), 16, 0, 1, 70, lines);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(lines[i / 16 * 32 + i % 16], float_to_bfloat16(values[i])) << values[i];
  for (std::size_t p = 0; p < 70; ++p)
    for (std::size_t c = 16; c < 32; ++c) ASSERT_EQ(lines[p * 32 + c], 0);
  alignas(64) Bfloat16 pairs[70 * 16];
  tiles().to_pairs(values.data(), 16, 69, false, pairs);
  alignas(64) Bfloat16 odd[70 * 16];
  tiles().to_pairs(values.data(), 16, 69, true, odd);
  std::vector<Bfloat16> planes(16 * 101, Bfloat16{7});
  tiles().to_planes(values.data(), 16, 69, planes.data(), 101);
  for (std::size_t p = 0; p < 69; ++p)
    for (std::size_t c = 0; c < 16; ++c) {
      ASSERT_EQ(pairs[p / 2 * 32 + 2 * c + p % 2], float_to_bfloat16(values[p * 16 + c]));
      ASSERT_EQ(planes[c * 101 + p], float_to_bfloat16(values[p * 16 + c]));
      ASSERT_EQ(odd[(p + 1) / 2 * 32 + 2 * c + (p + 1) % 2], float_to_bfloat16(values[p * 16 + c]));
    }
  for (std::size_t c = 0; c < 16; ++c) {
    EXPECT_EQ(pairs[34 * 32 + 2 * c + 1], 0) << "the other half of the last pair";
    EXPECT_EQ(odd[2 * c], 0) << "the other half of the first pair";
    EXPECT_EQ(planes[c * 101 + 69], 7) << "past the last pixel";
  }
}

TEST_P(Bfloat16Kernels, NanStaysAndDenormalsAreZero) {
  if (GetParam() == "pairs") GTEST_SKIP() << "oneDNN converts";
  alignas(64) float values[16] = {std::bit_cast<float>(0x7f800001U), std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::denorm_min(), -1e-39F};
  alignas(64) Bfloat16 line[32];
  tiles().to_lines(values, 16, 0, 1, 1, line);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(line[0])));
  EXPECT_TRUE(std::isnan(bfloat16_to_float(line[1])));
  EXPECT_EQ(line[2], 0x0000);
  EXPECT_EQ(line[3], 0x8000);
}

TEST_P(Bfloat16Kernels, WhatIsNotThereIsRefused) {
  const auto refused = [](const LayerShape& shape, const ConvOptions& o) {
    EXPECT_THROW(ConvPlan(shape, o), ConvError) << shape.describe();
  };
  ConvOptions o = options(Operation::kForward);
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2), o);
  o.layout = Layout::kNhwc;
  refused(LayerShape::conv2d(1, 17, 32, {4, 4}, {1, 1}), o);
  o.layout = Layout::kNchw;
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {1, 1}), o);
}

INSTANTIATE_TEST_SUITE_P(Each, Bfloat16Kernels, ::testing::Values("amx", "pairs", "portable"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace lacuna::kernels
