// Promises of docs/models/sparsetrain.md about results: special values, padding, equal bits.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/layout/blocked.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

// The bits of a result are the same in every run, and for forward and input_grad with any number of threads.
TEST(Kernels, SumsAreReproducible) {
  for (const Case& c : {Case{2, 70, 66, {30, 31}, {3, 3}, {1, 1}, {1, 1}}, Case{3, 70, 200, {9, 9}, {1, 1}},
                        Case{3, 70, 100, {9, 9}, {3, 3}, {2, 2}, {1, 1}},
                        Case{9, 20, 20, {16, 16}, {3, 3}, {1, 1}, {1, 1}}, Case{70, 300, 40, {1, 1}, {1, 1}}})
    for (const Operation op : kOperations) {
      std::map<int, std::vector<float>> first;  // by number of threads
      for (const int threads : {1, 2, 3, 5, 16, 1, 2, 3, 5, 16}) {
        ConvOptions o;
        o.op = op;
        o.impl = Impl::kSparse;
        o.threads = threads;
        ConvPlan plan(c.shape(), o);
        PlanTensors data(plan);
        data.fill(plan, 0.6, 5);
        plan.run(data.tensors());
        const AlignedFloats& out = data.result();
        const std::vector<float> result(out.data(), out.data() + out.size());
        std::vector<float>& expected = first[op == Operation::kWeightGrad ? threads : 0];
        if (expected.empty()) expected = result;
        EXPECT_EQ(0, std::memcmp(expected.data(), result.data(), result.size() * sizeof(float)))
            << operation_name(op) << " threads " << threads;
      }
    }
}

TEST(Kernels, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float denormal = std::numeric_limits<float>::denorm_min();
  const auto run = [](const std::vector<float>& x, const std::vector<float>& w, bool strict) {
    ConvOptions o;
    o.impl = Impl::kSparse;
    o.strict = strict;
    return run_pixel(o, x, w);
  };
  EXPECT_EQ(run({0.0F, 2.0F}, {inf, 3.0F}, false), 6.0F);   // 0 x Inf is skipped
  EXPECT_EQ(run({-0.0F, 2.0F}, {nan, 3.0F}, false), 6.0F);  // -0 is zero
  EXPECT_TRUE(std::isnan(run({0.0F, 2.0F}, {inf, 3.0F}, true)));
  EXPECT_TRUE(std::isnan(run({0.0F, 2.0F}, {nan, 3.0F}, true)));
  EXPECT_TRUE(std::isnan(run({nan, 2.0F}, {1.0F, 3.0F}, false)));  // NaN is not zero
  EXPECT_EQ(run({denormal, 0.0F}, {1.0F, 3.0F}, false), denormal);
}

TEST(Kernels, StrictChecksEveryOtherOperand) {
  const LayerShape shape = LayerShape::conv2d(1, 16, 16, {4, 4}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations)
    for (const bool broken : {false, true}) {
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kSparse;
      o.strict = true;
      ConvPlan plan(shape, o);
      PlanTensors data(plan);
      data.fill(plan, 0.5, 4);
      AlignedFloats& other = op == Operation::kWeightGrad ? data.dst : data.weights;
      if (broken) other[other.size() - 1] = std::numeric_limits<float>::infinity();
      EXPECT_EQ(plan.run(data.tensors()).used, broken ? Impl::kDenseDirect : Impl::kSparse)
          << operation_name(op);
    }
}

TEST(Kernels, BlockedPaddingChannelsStayZero) {
  const LayerShape shape = LayerShape::conv2d(2, 20, 18, {5, 5}, {3, 3}, {1, 1}, {1, 1});
  ConvOptions o;
  o.impl = Impl::kSparse;
  o.layout = Layout::kBlocked;
  o.bias = true;
  ConvPlan plan(shape, o);
  PlanTensors data(plan);
  data.fill(plan, 0.3, 8);
  plan.run(data.tensors());
  const BlockedShape dst = blocked_dst(shape);
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t p = 0; p < 25; ++p)
      for (int c = 2; c < kLanes; ++c)
        EXPECT_EQ(data.dst[n * dst.image_floats() + dst.block_floats() + p * kLanes + c], 0.0F);
}

}  // namespace
}  // namespace lacuna::kernels
