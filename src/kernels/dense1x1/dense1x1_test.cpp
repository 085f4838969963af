// The dense 1x1 kernels against the double-precision reference, and as a choice of kAuto.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "kernels/choice/calibrate.hpp"
#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

class Dense1x1 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!isa_available(Isa::kAvx512)) GTEST_SKIP() << "this CPU has no AVX-512";
  }
  static ConvOptions options(Operation op, Impl impl = Impl::kDense1x1) {
    ConvOptions o;
    o.op = op;
    o.impl = impl;
    o.layout = Layout::kBlocked;
    o.isa = "avx512";
    return o;
  }
  static constexpr std::array kBoth{Operation::kForward, Operation::kInputGrad};
};

// Every width of a tile, parts of one block, channels past whole blocks, channels in several passes, more
// threads than tiles.
TEST_F(Dense1x1, AgreesWithTheReference) {
  std::vector<LayerShape> shapes;
  for (std::int64_t w = 1; w <= 29; ++w)
    shapes.push_back(LayerShape::conv2d(2, 19 + w, 50 - w, {1, w}, {1, 1}));
  shapes.push_back(LayerShape::conv2d(2, 64, 48, {13, 13}, {1, 1}));
  shapes.push_back(LayerShape::conv2d(1, 1040, 16, {3, 5}, {1, 1}));
  shapes.push_back(LayerShape::conv2d(1, 33, 2060, {4, 4}, {1, 1}));
  shapes.push_back(LayerShape::conv2d(3, 768, 40, {9, 9}, {1, 1}));  // several chunks of pixels
  std::uint64_t seed = 1;
  for (const LayerShape& shape : shapes)
    for (const Operation op : kBoth) {
      ConvOptions o = options(op);
      ++seed;
      o.threads = 1 + static_cast<int>(seed / 2 % 5);
      o.weights = seed % 3 == 0   ? WeightLayout::kPacked
                  : seed % 3 == 1 ? WeightLayout::kOhwi
                                  : WeightLayout::kOihw;
      o.bias = op == Operation::kForward && seed % 5 < 3;
      o.relu = op == Operation::kForward && seed % 7 < 4;
      check_against_reference(shape, o, 0.3, seed);
    }
}

TEST_F(Dense1x1, PaddingIsWrittenAsZero) {
  ConvOptions o = options(Operation::kForward);
  o.bias = true;
  ConvPlan plan(LayerShape::conv2d(2, 20, 35, {3, 5}, {1, 1}), o);
  PlanTensors data(plan);
  data.fill(plan, 0, 3);
  std::fill_n(data.dst.data(), data.dst.size(), std::numeric_limits<float>::quiet_NaN());
  plan.run(data.tensors());
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t pixel = 0; pixel < 15; ++pixel)
      for (std::int64_t lane = 3; lane < 16; ++lane)
        ASSERT_EQ(data.dst[((n * 3 + 2) * 15 + pixel) * 16 + lane], 0.0F);
}

TEST_F(Dense1x1, BitsDoNotDependOnThreads) {
  const LayerShape shape = LayerShape::conv2d(3, 70, 90, {5, 7}, {1, 1});
  ConvOptions o = options(Operation::kForward);
  ConvPlan one(shape, o);
  o.threads = 4;
  ConvPlan four(shape, o);
  PlanTensors a(one), b(four);
  a.fill(one, 0.2, 5);
  b.fill(four, 0.2, 5);
  one.run(a.tensors());
  four.run(b.tensors());
  EXPECT_EQ(std::memcmp(a.dst.data(), b.dst.data(), static_cast<std::size_t>(a.dst.size()) * sizeof(float)),
            0);
}

TEST_F(Dense1x1, NanPassesReluAndWeightsArePackedOncePerVersion) {
  ConvOptions o = options(Operation::kForward);
  o.relu = true;
  ConvPlan plan(LayerShape::conv2d(1, 16, 16, {1, 2}, {1, 1}), o);
  PlanTensors data(plan);
  data.fill(plan, 0, 1);
  std::fill_n(data.src.data(), data.src.size(), 1.0F);
  std::fill_n(data.weights.data(), data.weights.size(), 0.5F);
  data.src[0] = std::numeric_limits<float>::quiet_NaN();
  ConvTensors t = data.tensors();
  t.weights_version = 1;
  plan.run(t);
  EXPECT_TRUE(std::isnan(data.dst[0]));
  EXPECT_EQ(data.dst[16], 8.0F);
  std::fill_n(data.weights.data(), data.weights.size(), 1.0F);
  plan.run(t);
  EXPECT_EQ(data.dst[16], 8.0F);
  t.weights_version = 2;
  plan.run(t);
  EXPECT_EQ(data.dst[16], 16.0F);
}

TEST_F(Dense1x1, WhatIsNotThereIsRefused) {
  const auto refused = [](const LayerShape& shape, const ConvOptions& o) {
    EXPECT_THROW(ConvPlan(shape, o), ConvError) << shape.describe();
  };
  const LayerShape shape = LayerShape::conv2d(1, 32, 32, {4, 4}, {1, 1});
  ConvOptions o = options(Operation::kForward);
  EXPECT_NO_THROW(ConvPlan(shape, o));
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}), o);
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {1, 1}, {2, 2}), o);
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {1, 1}, {1, 1}, {1, 1}), o);
  refused(LayerShape::conv2d(1, 32, 32, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2), o);
  refused(LayerShape::linear(4, 32, 32), o);
  refused(shape, options(Operation::kWeightGrad));
  o.isa = "portable";
  refused(shape, o);
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    o = options(Operation::kForward);
    o.layout = layout;
    refused(shape, o);
  }
}

// What was measured holds: a cache that says so makes kAuto run it.
TEST_F(Dense1x1, AutoRunsItWhereItWasTheFastest) {
  const std::string folder = testing::TempDir() + "lacuna_kernels_cache";
  ASSERT_EQ(setenv("LACUNA_CACHE_DIR", folder.c_str(), 1), 0);
  CostCache& cache = CostCache::machine();
  if (cache.path().rfind(folder, 0) != 0) GTEST_SKIP() << "the cache of this process is the user's";
  const LayerShape shape = LayerShape::conv2d(2, 48, 80, {6, 7}, {1, 1});
  for (const Operation op : kBoth)
    for (const WeightLayout weights : {WeightLayout::kOihw, WeightLayout::kPacked}) {
      ConvOptions o = options(op, Impl::kAuto);
      o.weights = weights;
      CostCurve curve;
      curve.dense = 1e-3;
      curve.sparse = {5e-3, 4e-3, 3e-3, 2e-3, 2e-4};
      curve.dense_impl = Impl::kDense1x1;
      cache.store(calibration_key(shape, o), curve);
      check_against_reference(shape, o, 0.1, 4);
      ConvPlan plan(shape, o);
      PlanTensors data(plan);
      data.fill(plan, 0.1, 4);
      EXPECT_EQ(plan.run(data.tensors(), 0).used, Impl::kDense1x1);
      EXPECT_EQ(plan.run(data.tensors(), 0.99).used, Impl::kSparse);
      EXPECT_NE(std::string(plan.kernel()).find("dense1x1 avx512"), std::string::npos);
    }
}

}  // namespace
}  // namespace lacuna::kernels
