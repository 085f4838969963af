// Convolutions that skip zero weights, against the double-precision reference.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/pruned/pruned_conv.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

ConvOptions pruned_options(Operation op, const std::string& isa) {
  ConvOptions o;
  o.op = op;
  o.checked = Operand::kW;
  o.impl = Impl::kSparse;
  o.isa = isa;
  return o;
}

class EachPrunedIsa : public EachInstructionSet {};

TEST_P(EachPrunedIsa, MatchesReferenceOnEveryShape) {
  std::uint64_t seed = 1;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      if (++seed % 4 != 0 && GetParam() != "avx512") continue;
      ConvOptions o = pruned_options(op, GetParam());
      o.layout = seed % 3 == 0 ? Layout::kBlocked : seed % 3 == 1 ? Layout::kNchw : Layout::kNhwc;
      o.bias = op == Operation::kForward && seed % 4 < 2;
      o.relu = op == Operation::kForward && seed % 5 < 2;
      o.threads = seed % 7 == 0 ? 3 : seed % 5 == 0 ? 2 : 1;
      check_against_reference(c.shape(), o, seed % 11 == 0 ? 0.0 : seed % 13 == 0 ? 1.0 : 0.8, seed);
      if (HasFatalFailure()) return;
    }
}

// Random small shapes: every stride, padding, dilation, kernel, batch and share of zeros.
TEST_P(EachPrunedIsa, MatchesReferenceOnRandomShapes) {
  // More of them: --gtest_shuffle --gtest_repeat=N draws others each time.
  Random random(11 + static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.uniform() * static_cast<double>(high - low + 1));
  };
  int done = 0;
  while (done < (GetParam() == "avx512" ? 500 : 80)) {
    const Case c{draw(1, 5),
                 draw(1, 40),
                 draw(1, 40),
                 {draw(1, 12), draw(1, 12)},
                 {draw(1, 4), draw(1, 4)},
                 {draw(1, 3), draw(1, 3)},
                 {draw(0, 2), draw(0, 2)},
                 {draw(1, 2), draw(1, 2)}};
    if ((c.kernel.h - 1) * c.dilation.h + 1 > c.input.h + 2 * c.padding.h ||
        (c.kernel.w - 1) * c.dilation.w + 1 > c.input.w + 2 * c.padding.w)
      continue;
    ++done;
    ConvOptions o = pruned_options(kOperations[static_cast<std::size_t>(done % 3)], GetParam());
    o.layout = Layout::kBlocked;
    if (o.op != Operation::kWeightGrad && done % 2 == 0) o.weights = WeightLayout::kPacked;
    o.threads = done % 10 == 0 ? 2 : 1;
    const double shares[] = {0.9, 0.5, 0.95, 0, 1, 0.99, 0.7};
    check_against_reference(c.shape(), o, shares[done % 7], static_cast<std::uint64_t>(done));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Pruned, EachPrunedIsa, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

// More result channels than their sums may take: a group of tiles is done in two goes.
TEST(Pruned, ManyResultChannels) {
  const LayerShape wide = LayerShape::conv2d(16, 17, 1100, {4, 4}, {3, 3}, {1, 1}, {1, 1});
  const LayerShape narrow = LayerShape::conv2d(16, 1100, 17, {4, 4}, {3, 3}, {1, 1}, {1, 1});
  for (const int threads : {1, 2}) {
    for (const Operation op : {Operation::kForward, Operation::kWeightGrad}) {
      ConvOptions o = pruned_options(op, "");
      o.threads = threads;
      check_against_reference(wide, o, 0.9, 5);
    }
    ConvOptions o = pruned_options(Operation::kInputGrad, "");
    o.threads = threads;
    check_against_reference(narrow, o, 0.9, 6);
  }
}

// New values at the same places, then other places: both are noticed.
TEST(Pruned, WeightsMayChangeBetweenRuns) {
  const LayerShape shape = LayerShape::conv2d(2, 20, 24, {7, 7}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations) {
    const auto conv = std::make_unique<PrunedConv>(KernelConfig(shape, pruned_options(op, "")));
    std::vector<float> weights(static_cast<std::size_t>(shape.w_elements()), 0.0F);
    for (std::size_t i = 0; i < weights.size(); i += 7) weights[i] = 1.0F;
    EXPECT_FALSE(conv->update(weights.data()));
    for (float& w : weights) w *= 3.0F;
    EXPECT_TRUE(conv->update(weights.data()));
    std::swap(weights[0], weights[1]);  // as many non-zeros, one elsewhere
    EXPECT_FALSE(conv->update(weights.data()));
    EXPECT_TRUE(conv->update(weights.data()));
    weights[7] = -0.0F;  // one less
    EXPECT_FALSE(conv->update(weights.data()));
    weights[7] = std::numeric_limits<float>::quiet_NaN();  // not zero
    EXPECT_FALSE(conv->update(weights.data()));
  }
}

// Lists that were built again are those of a new plan, with any number of threads: the same bits.
TEST(Pruned, ListsBuiltAgainAreThoseOfANewPlan) {
  const LayerShape shape = LayerShape::conv2d(2, 40, 32, {9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1});
  const std::int64_t size = shape.w_elements();
  for (const Operation op : {Operation::kForward, Operation::kInputGrad}) {
    const BlockedShape input = op == Operation::kForward ? blocked_src(shape) : blocked_dst(shape);
    const BlockedShape result = op == Operation::kForward ? blocked_dst(shape) : blocked_src(shape);
    AlignedFloats from(input.floats());
    for (std::int64_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 13) * 0.1F;
    const auto weights = [&](std::int64_t every) {
      std::vector<float> w(static_cast<std::size_t>(size), 0.0F);
      for (std::int64_t i = every / 2; i < size; i += every)
        w[static_cast<std::size_t>(i)] = 1.0F / static_cast<float>(i);
      return w;
    };
    const auto run = [&](PrunedConv& conv) {
      AlignedFloats scratch(conv.scratch_floats());
      AlignedFloats to(result.floats());
      ConvTensors t;
      t.src = t.diff_dst = from.data();
      t.dst = t.diff_src = to.data();
      conv.run(t, {nullptr, scratch.data()});
      return std::vector<float>(to.data(), to.data() + to.size());
    };
    const auto make = [&](int threads) {
      ConvOptions o = pruned_options(op, "");
      o.threads = threads;
      return std::make_unique<PrunedConv>(KernelConfig(shape, o));
    };
    const auto fresh = make(1);
    fresh->update(weights(7).data());
    const std::vector<float> expected = run(*fresh);
    for (const int threads : {1, 3}) {
      const auto conv = make(threads);
      for (const std::int64_t every : {31, 2, 1000000, 7}) conv->update(weights(every).data());
      EXPECT_EQ(run(*conv), expected) << threads << " threads";
    }
  }
}

TEST(Pruned, PackedWeightsOfAnotherCallAreRefused) {
  const LayerShape shape = LayerShape::conv2d(1, 16, 16, {4, 4}, {3, 3}, {1, 1}, {1, 1});
  ConvOptions o = pruned_options(Operation::kForward, "");
  o.weights = WeightLayout::kPacked;
  ConvPlan plan(shape, o);
  PlanTensors data(plan);
  EXPECT_THROW(plan.run(data.tensors()), ConvError);  // never packed
  data.fill(plan, 0.5, 1);
  plan.run(data.tensors());
  AlignedFloats other(plan.weights_size());
  plan.pack_weights(data.plain_weights.data(), other.data());
  EXPECT_THROW(plan.run(data.tensors()), ConvError);
}

// As documented: a zero weight hides Inf and NaN of the inputs unless `strict`; NaN weights count.
TEST(Pruned, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto run = [](const std::vector<float>& x, const std::vector<float>& w, bool strict) {
    ConvOptions o = pruned_options(Operation::kForward, "");
    o.strict = strict;
    return run_pixel(o, x, w);
  };
  EXPECT_EQ(run({inf, 2.0F}, {0.0F, 3.0F}, false), 6.0F);
  EXPECT_EQ(run({nan, 2.0F}, {-0.0F, 3.0F}, false), 6.0F);
  EXPECT_TRUE(std::isnan(run({inf, 2.0F}, {0.0F, 3.0F}, true)));
  EXPECT_TRUE(std::isnan(run({1.0F, 2.0F}, {nan, 3.0F}, false)));
  EXPECT_EQ(run({2.0F, 1.0F}, {std::numeric_limits<float>::denorm_min(), 0.0F}, false),
            2 * std::numeric_limits<float>::denorm_min());
}

// Whichever implementation runs, gradients of zero weights are zero and the others agree.
TEST(Pruned, GradientsOfKeptWeightsByAnyImplementation) {
  const LayerShape shape = LayerShape::conv2d(2, 20, 24, {7, 7}, {3, 3}, {1, 1}, {1, 1});
  std::vector<std::vector<float>> results;
  for (const Impl impl : {Impl::kSparse, Impl::kDenseDirect, Impl::kReference}) {
    ConvOptions o = pruned_options(Operation::kWeightGrad, "");
    o.impl = impl;
    ConvPlan plan(shape, o);
    PlanTensors data(plan);
    data.fill(plan, 0.8, 3);
    ConvTensors t = data.tensors();
    t.weights = data.plain_weights.data();
    plan.run(t);
    results.emplace_back(data.weights.data(), data.weights.data() + data.weights.size());
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[0][i] == 0, results[2][i] == 0);
    EXPECT_NEAR(results[0][i], results[2][i], 1e-4);
    EXPECT_NEAR(results[1][i], results[2][i], 1e-4);
  }
}

}  // namespace
}  // namespace lacuna::kernels
