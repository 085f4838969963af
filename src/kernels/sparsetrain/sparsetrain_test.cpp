// SparseTrain's own algorithm against the double-precision reference, and what it refuses.
#include <gtest/gtest.h>

#include "kernels/sparsetrain/sparsetrain_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

class SparseTrain : public testing::Test {
 protected:
  void SetUp() override {
    if (!isa_available(Isa::kAvx512)) GTEST_SKIP() << "this CPU has no AVX-512";
  }
  static ConvOptions options(Operation op) {
    ConvOptions o;
    o.op = op;
    o.impl = Impl::kSparseTrain;
    return o;
  }
};

TEST_F(SparseTrain, MatchesReferenceOnEveryShapeItHas) {
  std::vector<Case> all = cases();
  for (const std::int64_t w : {1, 2, 3, 4, 5, 7, 8})
    for (const std::int64_t padding : {0, 1, 2}) {
      if (w + 2 * padding >= 3) all.push_back({2, 18, 20, {3, w}, {3, 3}, {1, 2}, {1, padding}});
      if (w + 2 * padding >= 5) all.push_back({2, 18, 20, {6, w}, {5, 5}, {1, 1}, {2, padding}});
    }
  all.push_back({1, 20, 18, {5, 5}, {3, 3}, {1, 1}, {4, 4}});  // more padding than kernel
  all.push_back({1, 20, 18, {5, 5}, {3, 3}, {2, 2}, {4, 4}});
  all.push_back({17, 18, 20, {3, 4}, {3, 3}, {1, 1}, {1, 1}});  // more images than a vector has
  all.push_back({3, 20, 250, {4, 5}, {1, 1}});                  // vectors of 8, 4, 2 and 1
  std::uint64_t seed = 1;
  int run = 0;
  for (const Case& c : all) {
    const LayerShape shape = c.shape();
    if (shape.macs() > 500'000 || !sparsetrain_refusal(shape, Isa::kAvx512).empty()) continue;
    for (const Operation op : kOperations) {
      ConvOptions o = options(op);
      o.layout = ++seed % 3 == 0 ? Layout::kBlocked : seed % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
      o.weights = seed % 4 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
      o.bias = op == Operation::kForward && seed % 4 < 2;
      o.relu = op == Operation::kForward && seed % 5 < 2;
      o.threads = seed % 5 == 0 ? 2 : 1;
      check_against_reference(shape, o, 0.5, seed);
      if (HasFatalFailure()) return;
      if (op == Operation::kWeightGrad) {
        o.checked = Operand::kG;
        check_against_reference(shape, o, 0.6, seed);
        if (HasFatalFailure()) return;
      }
      ++run;
    }
  }
  EXPECT_GT(run, 120);
}

TEST_F(SparseTrain, MatchesReferenceAtEveryShareOfZeros) {
  const Case some[] = {{3, 40, 34, {4, 15}, {3, 3}, {1, 1}, {1, 1}},
                       {3, 33, 70, {5, 10}, {1, 1}},
                       {3, 33, 50, {5, 10}, {3, 3}, {2, 2}, {1, 1}}};
  std::uint64_t seed = 100;
  for (const Case& c : some)
    for (const double zeros : {0.0, 0.05, 0.3, 0.8, 0.95, 1.0})
      for (const Operation op : kOperations) {
        ConvOptions o = options(op);
        if (op == Operation::kWeightGrad && ++seed % 2 == 0) o.checked = Operand::kG;
        check_against_reference(c.shape(), o, zeros, seed);
        if (HasFatalFailure()) return;
      }
}

TEST_F(SparseTrain, ZerosAreSkippedAndNothingElse) {
  const LayerShape shape = LayerShape::conv2d(1, 2, 1, {1, 1}, {1, 1});
  const float inf = std::numeric_limits<float>::infinity();
  const auto run = [&](std::vector<float> x, std::vector<float> w) {
    ConvPlan plan(shape, options(Operation::kForward));
    float y = 0;
    EXPECT_EQ(plan.run({.src = x.data(), .weights = w.data(), .dst = &y}).used, Impl::kSparseTrain);
    return y;
  };
  EXPECT_EQ(run({-0.0F, 2.0F}, {inf, 3.0F}), 6.0F);
  EXPECT_TRUE(std::isnan(run({std::numeric_limits<float>::quiet_NaN(), 2.0F}, {1.0F, 3.0F})));
}

TEST(SparseTrainRefusals, SayWhatIsMissing) {
  const auto refusal = [](const Case& c) { return sparsetrain_refusal(c.shape(), Isa::kAvx512); };
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {3, 3}}), "");
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {7, 7}}), "has no kernel of width 7 (it has 1, 3 and 5)");
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {3, 3}, {3, 3}}), "has no stride above 2 for kernels of width 3");
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {5, 5}, {2, 2}}), "has no stride for kernels of width 5");
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {3, 3}, {1, 1}, {2, 2}, {2, 2}}), "has no dilated convolutions");
  EXPECT_EQ(refusal({1, 16, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2}), "has no convolutions in groups");
  const LayerShape shape = Case{1, 16, 16, {8, 8}, {3, 3}}.shape();
  EXPECT_EQ(sparsetrain_refusal(shape, Isa::kAvx2), "needs a CPU with AVX-512");
  ConvOptions o;
  o.impl = Impl::kSparseTrain;
  o.isa = "portable";
  try {
    const ConvPlan plan(shape, o);
    FAIL() << "no error";
  } catch (const ConvError& error) {
    EXPECT_EQ(error.code(), ConvError::Code::kShape);
    EXPECT_STREQ(error.what(),
                 "convolution: sparsetrain needs a CPU with AVX-512; use another implementation");
  }
}

}  // namespace
}  // namespace lacuna::kernels
