// Every kernel against the double-precision reference, over shapes that are meant to break them.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/blocked.hpp"
#include "kernels/conv.hpp"
#include "kernels/dispatch/cost_model.hpp"
#include "kernels/dispatch/tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

// Rounding errors of a sum of n products are below n * eps * sum of |products|; random errors are far below.
constexpr double kTolerance = 32 * std::numeric_limits<float>::epsilon();

struct Case {
  std::int64_t n, c, k;
  Size2 input, kernel, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
  LayerShape shape() const {
    if (input == Size2{1, 1} && kernel == Size2{1, 1} && n > 1) return LayerShape::linear(n, c, k);
    return LayerShape::conv2d(n, c, k, input, kernel, stride, padding, dilation, groups);
  }
};

// Tails of channels, widths around the unrolled steps, images smaller than the kernel, all strides and
// paddings.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const std::int64_t w : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 17, 29})
    list.push_back({2, 19, 18, {w % 5 + 1, w}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({3, 64, 64, {7, 7}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({1, 80, 48, {30, 31}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({1, 3, 16, {60, 58}, {3, 3}, {1, 1}, {1, 1}});    // several bands of rows
  list.push_back({1, 160, 33, {14, 14}, {3, 3}, {1, 1}, {1, 1}});  // several parts of channels
  list.push_back({5, 37, 70, {1, 1}, {1, 1}});                     // linear
  list.push_back({1, 1, 1, {1, 1}, {1, 1}});
  list.push_back({70, 130, 145, {1, 1}, {1, 1}});
  list.push_back({33, 64, 128, {1, 1}, {1, 1}});
  list.push_back({2, 1, 17, {1, 1}, {3, 3}, {1, 1}, {1, 1}});  // one pixel, one tap of nine
  list.push_back({2, 100, 130, {9, 11}, {1, 1}});
  list.push_back({2, 65, 40, {9, 10}, {1, 1}, {2, 2}});
  list.push_back({2, 20, 24, {5, 6}, {1, 1}, {1, 1}, {1, 1}});  // 1x1 with padding
  list.push_back({1, 16, 16, {40, 30}, {1, 1}, {3, 2}});
  for (const Size2 stride : {Size2{2, 2}, Size2{1, 2}, Size2{3, 1}, Size2{4, 4}})
    for (const Size2 padding : {Size2{0, 0}, Size2{1, 1}, Size2{2, 0}})
      list.push_back({2, 18, 35, {11, 12}, {3, 3}, stride, padding});
  list.push_back({1, 24, 20, {12, 9}, {3, 3}, {1, 1}, {0, 0}});
  list.push_back({1, 24, 20, {12, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2}});  // dilated
  list.push_back({1, 10, 20, {13, 12}, {3, 2}, {2, 1}, {1, 1}, {1, 3}});
  list.push_back({2, 17, 20, {9, 9}, {5, 5}, {1, 1}, {2, 2}});
  list.push_back({1, 3, 20, {23, 21}, {7, 7}, {2, 2}, {3, 3}});
  list.push_back({1, 3, 18, {35, 35}, {11, 11}, {4, 4}, {2, 2}});
  list.push_back({2, 12, 24, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 3});  // groups
  list.push_back({2, 64, 32, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2});
  list.push_back({1, 9, 9, {6, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 9});  // depthwise
  list.push_back({2, 6, 10, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2});
  return list;
}

std::string name_of(const LayerShape& shape, const ConvOptions& o, const ConvPlan& plan, double zeros) {
  return shape.describe() + " n" + std::to_string(shape.n) + " g" + std::to_string(shape.groups) + " " +
         std::string(operation_name(o.op)) + " " + impl_name(o.impl) + " (" + plan.kernel() + ") layout " +
         std::to_string(static_cast<int>(o.layout)) + " threads " + std::to_string(o.threads) + " zeros " +
         std::to_string(zeros);
}

// Runs a plan and compares each element with the reference of the plain tensors.
void check_against_reference(const LayerShape& shape, const ConvOptions& options, double zeros,
                             std::uint64_t seed) {
  ConvPlan plan(shape, options);
  PlanTensors data(plan);
  data.fill(plan, zeros, seed);
  ConvTensors tensors = data.tensors();
  AlignedFloats& out = options.op == Operation::kForward     ? data.dst
                       : options.op == Operation::kInputGrad ? data.src
                                                             : data.weights;
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = std::numeric_limits<float>::quiet_NaN();
  const RefConv ref(shape, options);
  std::vector<double> sum(static_cast<std::size_t>(ref.result_size()));
  std::vector<double> magnitude(sum.size());
  ConvTensors ref_tensors = tensors;
  if (options.op != Operation::kWeightGrad) ref_tensors.weights = data.plain_weights.data();
  if (!options.bias) ref_tensors.bias = nullptr;
  ref.run(ref_tensors, sum.data(), magnitude.data());
  plan.run(tensors);
  const float* got = out.data();
  std::vector<float> plain;
  if (options.op == Operation::kWeightGrad && options.weights == WeightLayout::kPacked) {
    plain.resize(sum.size());
    plan.unpack_weights(out.data(), plain.data());
    got = plain.data();
  }
  for (std::size_t i = 0; i < sum.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - sum[i]), kTolerance * magnitude[i] + 1e-30)
        << name_of(shape, options, plan, zeros) << " seed " << seed << " element " << i << " got " << got[i]
        << " wants " << sum[i];
}

const double kShares[] = {0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999, 1};

class EachIsa : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Isa isa = GetParam() == "avx512" ? Isa::kAvx512
                    : GetParam() == "avx2" ? Isa::kAvx2
                                           : Isa::kPortable;
    if (!isa_available(isa)) GTEST_SKIP() << "this CPU has no " << GetParam();
  }
};

TEST_P(EachIsa, MatchesReferenceOnEveryShape) {
  std::uint64_t seed = 1;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kSparse;
      o.isa = GetParam();
      ++seed;
      o.layout = seed % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
      o.threads = seed % 7 == 0 ? 3 : seed % 5 == 0 ? 2 : 1;
      o.bias = op == Operation::kForward && seed % 4 < 2;
      o.relu = op == Operation::kForward && seed % 5 < 2;
      check_against_reference(c.shape(), o, 0.5, seed);
      if (HasFatalFailure()) return;
      if (op == Operation::kWeightGrad) {
        o.checked = Checked::kGradients;
        check_against_reference(c.shape(), o, 0.6, seed);
        if (HasFatalFailure()) return;
      }
    }
}

TEST_P(EachIsa, MatchesReferenceAtEveryShareOfZeros) {
  const Case some[] = {{2, 70, 34, {9, 15}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 70, 34, {7, 7}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 33, 150, {9, 10}, {1, 1}},
                       {2, 33, 50, {9, 10}, {3, 3}, {2, 2}, {1, 1}}};
  std::uint64_t seed = 100;
  for (const Case& c : some)
    for (const double zeros : kShares)
      for (const Operation op : kOperations) {
        ConvOptions o;
        o.op = op;
        o.impl = Impl::kSparse;
        o.isa = GetParam();
        o.layout = Layout::kBlocked;
        o.weights = ++seed % 2 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
        o.threads = seed % 5 == 0 ? 2 : 1;
        if (op == Operation::kWeightGrad && seed % 3 == 0) o.checked = Checked::kGradients;
        check_against_reference(c.shape(), o, zeros, seed);
        if (HasFatalFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachIsa, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

// The list of kernels: each one alone, so that a slower one is tested where a faster one would be taken.
TEST(Kernels, EachOfTheListMatchesReference) {
  const LayerShape shapes[] = {LayerShape::conv2d(2, 50, 40, {10, 16}, {3, 3}, {1, 1}, {1, 1}),
                               LayerShape::conv2d(3, 50, 40, {6, 5}, {3, 3}, {1, 1}, {1, 1})};
  int run = 0;
  for (const SparseKernel& kernel : sparse_kernels())
    for (const LayerShape& shape : shapes)
      for (const Operation op : kOperations)
        for (const Checked checked : {Checked::kActivations, Checked::kGradients})
          for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
            if (!isa_available(isa) || (op != Operation::kWeightGrad && checked == Checked::kGradients))
              continue;
            const SparseConfig config{shape, op, checked, isa, 2, 32 * 1024};
            if (!kernel.supports(config)) continue;
            const auto conv = kernel.make(config);
            ConvOptions o;
            o.op = op;
            if (op == Operation::kWeightGrad) o.checked = checked;
            o.impl = Impl::kSparse;
            o.layout = Layout::kBlocked;
            ConvPlan plan(shape, o);
            PlanTensors data(plan);
            data.fill(plan, 0.5, 9);
            const ConvTensors t = data.tensors();
            const Sides sides(config);
            AlignedFloats packed(conv->packed_floats()), workspace(conv->workspace_floats());
            AlignedFloats bias(sides.other.groups * sides.other.blocks() * kLanes);
            SparseRun job{};
            job.bias = bias.data();
            job.workspace = workspace.data();
            std::vector<float> plain;
            const float* got = nullptr;
            if (op == Operation::kWeightGrad) {
              const bool a = checked == Checked::kActivations;
              job.checked = a ? t.src : t.diff_dst;
              job.other = a ? t.diff_dst : t.src;
              job.out = packed.data();
              conv->run(job);
              plain.resize(static_cast<std::size_t>(shape.w_elements()));
              conv->unpack(packed.data(), plain.data());
              got = plain.data();
            } else {
              conv->pack(t.weights, packed.data());
              job.checked = op == Operation::kForward ? t.src : t.diff_dst;
              job.other = packed.data();
              job.out = op == Operation::kForward ? t.dst : t.diff_src;
              conv->run(job);
              got = job.out;
            }
            ConvOptions blocked;
            blocked.op = op;
            blocked.layout = Layout::kBlocked;
            const RefConv ref(shape, blocked);
            std::vector<double> sum(static_cast<std::size_t>(ref.result_size())), magnitude(sum.size());
            ConvTensors plain_t = t;
            plain_t.bias = nullptr;
            ref.run(plain_t, sum.data(), magnitude.data());
            for (std::size_t i = 0; i < sum.size(); ++i)
              ASSERT_LE(std::fabs(got[i] - sum[i]), kTolerance * magnitude[i])
                  << kernel.name << " " << isa_name(isa) << " " << operation_name(op) << " " << i;
            ++run;
          }
  EXPECT_GE(run, 2 * (2 + 2));  // the portable ones at least
}

TEST(Kernels, DenseMatchesReference) {
  std::uint64_t seed = 1000;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kDenseDirect;
      o.layout = ++seed % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
      o.bias = op == Operation::kForward && seed % 4 < 2;
      o.relu = op == Operation::kForward && seed % 5 < 2;
      o.weights = seed % 3 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
      check_against_reference(c.shape(), o, 0.5, seed);
      if (HasFatalFailure()) return;
    }
}

TEST(Kernels, ReferenceImplementationRuns) {
  const LayerShape shape = LayerShape::conv2d(1, 5, 6, {4, 5}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations) {
    ConvOptions o;
    o.op = op;
    o.impl = Impl::kReference;
    check_against_reference(shape, o, 0.5, 3);
  }
}

// The bits of a result do not depend on the run; those of forward and input_grad not on the number of threads
// either.
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
        const AlignedFloats& out = op == Operation::kForward     ? data.dst
                                   : op == Operation::kInputGrad ? data.src
                                                                 : data.weights;
        const std::vector<float> result(out.data(), out.data() + out.size());
        std::vector<float>& expected = first[op == Operation::kWeightGrad ? threads : 0];
        if (expected.empty()) expected = result;
        EXPECT_EQ(0, std::memcmp(expected.data(), result.data(), result.size() * sizeof(float)))
            << operation_name(op) << " threads " << threads;
      }
    }
}

// Sums that are cut into slices because there are more threads than units of work: every number of threads,
// shapes with few channels, fewer tiles than slices.
TEST(Kernels, SlicesOfSumsMatchTheReference) {
  std::uint64_t seed = 1000;
  for (const Case& c :
       {Case{7, 20, 33, {13, 15}, {3, 3}, {1, 1}, {1, 1}}, Case{1, 16, 16, {5, 5}, {3, 3}, {1, 1}, {1, 1}},
        Case{64, 16, 16, {3, 3}, {3, 3}, {1, 1}, {1, 1}}, Case{5, 30, 17, {20, 9}, {1, 1}},
        Case{200, 40, 50, {1, 1}, {1, 1}}, Case{3, 17, 18, {11, 12}, {3, 3}, {2, 2}, {1, 1}},
        Case{2, 64, 32, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2}})
    for (const Checked checked : {Checked::kActivations, Checked::kGradients})
      for (const int threads : {2, 3, 4, 7, 16, 33})
        for (const WeightLayout weights : {WeightLayout::kOihw, WeightLayout::kPacked}) {
          ConvOptions o;
          o.op = Operation::kWeightGrad;
          o.checked = checked;
          o.impl = Impl::kSparse;
          o.threads = threads;
          o.weights = weights;
          check_against_reference(c.shape(), o, 0.5, ++seed);
        }
}

// What docs/models/sparsetrain.md promises about special values.
TEST(Kernels, SpecialValues) {
  const LayerShape shape = LayerShape::conv2d(1, 2, 1, {1, 1}, {1, 1});
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float denormal = std::numeric_limits<float>::denorm_min();
  auto run = [&](std::vector<float> x, std::vector<float> w, bool strict) {
    ConvOptions o;
    o.impl = Impl::kSparse;
    o.strict = strict;
    ConvPlan plan(shape, o);
    float y = 0;
    ConvTensors t;
    t.src = x.data();
    t.weights = w.data();
    t.dst = &y;
    plan.run(t);
    return y;
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

// The dispatcher: whichever it takes, the result is right, and at nearly all zeros it takes the sparse
// kernel.
TEST(Kernels, AutoGivesTheSameResultEitherWay) {
  const std::string folder = testing::TempDir() + "lacuna_kernels_cache";
  ASSERT_EQ(setenv("LACUNA_CACHE_DIR", folder.c_str(), 1), 0);
  const LayerShape shape = LayerShape::conv2d(2, 64, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations)
    for (const WeightLayout weights : {WeightLayout::kOihw, WeightLayout::kPacked}) {
      ConvOptions o;
      o.op = op;
      o.layout = Layout::kBlocked;
      o.weights = weights;
      ConvPlan plan(shape, o);
      PlanTensors data(plan);
      data.fill(plan, 0.97, 6);
      const AlignedFloats& out = op == Operation::kForward     ? data.dst
                                 : op == Operation::kInputGrad ? data.src
                                                               : data.weights;
      std::vector<std::vector<float>> results;
      for (const double hint : {0.0, 1.0, -1.0}) {
        const ConvRun run = hint < 0 ? plan.run(data.tensors()) : plan.run(data.tensors(), hint);
        if (hint != 0) {
          EXPECT_EQ(run.used, Impl::kSparse) << operation_name(op);
        }
        // Nothing is counted where the choice is the same at any share.
        if (hint < 0 && run.zeros >= 0) {
          EXPECT_NEAR(run.zeros, 0.97, 0.02);
        }
        if (op == Operation::kWeightGrad && weights == WeightLayout::kPacked) {
          results.emplace_back(static_cast<std::size_t>(shape.w_elements()));
          plan.unpack_weights(out.data(), results.back().data());
        } else {
          results.emplace_back(out.data(), out.data() + out.size());
        }
      }
      for (std::size_t i = 0; i < results[0].size(); ++i)
        ASSERT_NEAR(results[0][i], results[1][i], 2e-4) << operation_name(op) << " " << i;
      EXPECT_EQ(results[1], results[2]);
    }
}

// Images stay plain while the features are blocked: every implementation, every operation.
TEST(Kernels, TheTwoTensorsMayHaveTwoLayouts) {
  const std::vector<Layout> layouts = {Layout::kNchw, Layout::kNhwc, Layout::kBlocked};
  std::uint64_t seed = 500;
  for (const LayerShape& shape :
       {LayerShape::conv2d(2, 3, 20, {9, 8}, {3, 3}, {2, 2}, {1, 1}),
        LayerShape::conv2d(1, 17, 16, {6, 6}, {3, 3}, {1, 1}, {1, 1}), LayerShape::linear(3, 19, 7)})
    for (const Layout src : layouts)
      for (const Layout dst : layouts)
        for (const Operation op : kOperations)
          for (const Impl impl : {Impl::kSparse, Impl::kDenseDirect, Impl::kReference}) {
            ConvOptions o;
            o.op = op;
            o.impl = impl;
            o.layout = dst;
            o.src_layout = src;
            o.bias = op == Operation::kForward;
            check_against_reference(shape, o, 0.4, ++seed);
          }
}

TEST(Kernels, NobodyLooksAtZerosThatDoNotMatter) {
  CostCurve curve{.dense = 1, .sparse = {2, 1.5, 1.2, 0.5, 0.2}};
  EXPECT_TRUE(curve.zeros_matter());
  curve.sparse = {2, 1.9, 1.8, 1.5, 0.98};
  EXPECT_FALSE(curve.zeros_matter());
  curve.sparse = {0.9, 0.8, 0.5, 0.3, 0.1};
  EXPECT_FALSE(curve.zeros_matter());
}

TEST(Kernels, LookingAtZerosCostsAHundredthOfTheCall) {
  EXPECT_EQ(lines_worth_sampling(1e-6), 16);  // fewer would tell nothing
  EXPECT_EQ(lines_worth_sampling(1e-3), 100);
  EXPECT_EQ(lines_worth_sampling(1), kMaxSampledLines);
}

TEST(Kernels, ZerosAreCountedWell) {
  Random random(3);
  for (const double share : {0.0, 0.25, 0.5, 0.9, 1.0}) {
    std::vector<float> data(1 << 20);
    for (float& v : data) v = random.chance(share) ? 0.0F : 1.0F;
    EXPECT_NEAR(sample_zeros(data.data(), 1 << 20), share, 0.02);
    EXPECT_NEAR(sample_zeros(data.data(), 1 << 20, 16), share, 0.12);
    EXPECT_NEAR(count_zeros(data.data(), 1 << 20, 2), share, 0.002);
  }
}

}  // namespace
}  // namespace lacuna::kernels
