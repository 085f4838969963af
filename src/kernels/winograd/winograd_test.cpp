// Our own Winograd against the double-precision reference, where shapes, threads and layouts lead to other
// tiles.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

constexpr double kRounding = 1e-5;

ConvOptions options_of(Operation op, const std::string& isa) {
  ConvOptions o;
  o.op = op;
  o.impl = Impl::kWinograd4x4;
  o.layout = Layout::kBlocked;
  o.isa = isa;
  return o;
}

LayerShape shape_of(std::int64_t n, std::int64_t c, std::int64_t k, Size2 image, std::int64_t padding = 1) {
  return LayerShape::conv2d(n, c, k, image, {3, 3}, {1, 1}, {padding, padding});
}

class Winograd4x4 : public EachInstructionSet {};

// Images smaller than a tile, last tiles of one to three pixels, every padding, parts of blocks of channels.
TEST_P(Winograd4x4, MatchesReferenceAtOddSizes) {
  std::vector<LayerShape> shapes = {shape_of(2, 16, 48, {14, 14}), shape_of(1, 33, 7, {5, 9}),
                                    shape_of(3, 3, 20, {7, 7})};
  for (std::int64_t size = 1; size <= 9; ++size) shapes.push_back(shape_of(2, 18, 20, {size, 10 - size}));
  for (const std::int64_t padding : {0, 2, 3}) shapes.push_back(shape_of(2, 20, 17, {6, 9}, padding));
  std::uint64_t seed = 1;
  for (const LayerShape& shape : shapes)
    for (const Operation op : kOperations) {
      ConvOptions o = options_of(op, GetParam());
      ++seed;
      o.layout = seed % 3 == 0 ? Layout::kNchw : Layout::kBlocked;
      if (seed % 3 == 1 && shape.c % 16 == 0 && shape.k % 16 == 0) o.layout = Layout::kNhwc;
      o.weights = seed % 4 < 2 ? WeightLayout::kPacked : WeightLayout::kOihw;
      o.threads = 1 + static_cast<int>(seed % 5);
      o.bias = op == Operation::kForward && seed % 2 == 0;
      o.relu = op == Operation::kForward && seed % 7 < 3;
      if (op == Operation::kWeightGrad && seed % 2 == 0) o.checked = Operand::kG;
      check_against_reference(shape, o, 0.3, seed, kRounding);
      if (HasFatalFailure()) return;
    }
}

// More tiles than are transformed at once, and weights so large that they are not meant to stay in the cache.
TEST_P(Winograd4x4, MatchesReferenceInSeveralSteps) {
  std::uint64_t seed = 50;
  for (const LayerShape& shape : {shape_of(5, 16, 32, {21, 18}), shape_of(1, 176, 176, {9, 8})})
    for (const Operation op : kOperations)
      for (const int threads : {1, 3}) {
        ConvOptions o = options_of(op, GetParam());
        o.threads = threads;
        check_against_reference(shape, o, 0, ++seed, kRounding);
        if (HasFatalFailure()) return;
      }
}

TEST_P(Winograd4x4, BitsDoNotDependOnThreads) {
  const LayerShape shape = shape_of(3, 32, 64, {19, 18});
  for (const Operation op : kOperations) {
    std::vector<float> results[2];
    for (const int i : {0, 1}) {
      ConvOptions o = options_of(op, GetParam());
      o.threads = i == 1 ? 4 : 1;
      ConvPlan plan(shape, o);
      PlanTensors data(plan);
      data.fill(plan, 0.2, 5);
      plan.run(data.tensors());
      results[i].assign(data.result().data(), data.result().data() + data.result().size());
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Winograd4x4, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

TEST(Winograd4x4Results, PaddingIsZeroAndNanPassesRelu) {
  ConvOptions o = options_of(Operation::kForward, "");
  o.relu = true;
  ConvPlan plan(shape_of(1, 16, 20, {5, 6}), o);
  PlanTensors data(plan);
  data.fill(plan, 0, 3);
  data.src[0] = std::numeric_limits<float>::quiet_NaN();
  plan.run(data.tensors());
  EXPECT_TRUE(std::isnan(data.dst[0]));
  for (std::int64_t pixel = 0; pixel < 30; ++pixel)
    for (std::int64_t lane = 4; lane < 16; ++lane) {
      const float value = data.dst[(30 + pixel) * 16 + lane];
      EXPECT_TRUE(value == 0.0F || pixel / 6 < 4) << pixel;  // those of the first tiles got the NaN
    }
}

TEST(Winograd4x4Results, OtherConvolutionsAreRefused) {
  const auto refused = [](const LayerShape& shape) {
    EXPECT_THROW(ConvPlan(shape, options_of(Operation::kForward, "")), ConvError) << shape.describe();
  };
  refused(LayerShape::conv2d(1, 32, 32, {8, 8}, {1, 1}));
  refused(LayerShape::conv2d(1, 32, 32, {8, 8}, {5, 5}, {1, 1}, {2, 2}));
  refused(LayerShape::conv2d(1, 32, 32, {8, 8}, {3, 3}, {2, 2}, {1, 1}));
  refused(LayerShape::conv2d(1, 32, 32, {8, 8}, {3, 3}, {1, 1}, {2, 2}, {2, 2}));
  refused(LayerShape::conv2d(1, 32, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2));
  refused(LayerShape::linear(4, 32, 32));
}

}  // namespace
}  // namespace lacuna::kernels
