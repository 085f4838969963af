// Plans that may skip zeros on either side: which one they take, and that the results are the same.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "base/random.hpp"
#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

const LayerShape kShape = LayerShape::conv2d(2, 20, 33, {7, 9}, {3, 3}, {1, 1}, {1, 1});

struct EitherSide {
  EitherSide(Operation op, double data_zeros, double weight_zeros, bool packed = false, int threads = 1)
      : plan(kShape, options(op, packed, threads)), data(plan) {
    data.fill(plan, data_zeros, 5);
    Random random(9);
    for (std::int64_t i = 0; i < data.plain_weights.size(); ++i)
      if (random.chance(weight_zeros)) data.plain_weights[i] = 0;
    if (op == Operation::kWeightGrad)
      plan.use_weights(data.plain_weights.data());
    else if (packed)
      plan.pack_weights(data.plain_weights.data(), data.weights.data());
    else
      std::copy_n(data.plain_weights.data(), data.plain_weights.size(), data.weights.data());
  }
  static ConvOptions options(Operation op, bool packed, int threads) {
    ConvOptions o;
    o.op = op;
    o.impl = Impl::kSparse;
    o.layout = Layout::kBlocked;
    o.or_weights = true;
    o.threads = threads;
    if (packed) o.weights = WeightLayout::kPacked;
    return o;
  }
  // Runs and compares with the reference; gradients of zero weights must be zero.
  ConvRun check(std::uint64_t version = 0) {
    ConvTensors t = data.tensors();
    const RefConv ref(kShape, plan.options());
    std::vector<double> sum(static_cast<std::size_t>(ref.result_size())), magnitude(sum.size());
    ConvTensors plain = t;
    const bool gradient = plan.options().op == Operation::kWeightGrad;
    if (!gradient) plain.weights = data.plain_weights.data();
    plain.bias = nullptr;
    ref.run(plain, sum.data(), magnitude.data());
    t.weights_version = version;
    const ConvRun done = plan.run(t);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const double wants = gradient && data.plain_weights[at] == 0.0F ? 0.0 : sum[i];
      EXPECT_LE(std::fabs(data.result()[at] - wants), kTolerance * magnitude[i] + 1e-30) << i;
      if (testing::Test::HasFailure()) break;
    }
    return done;
  }

  ConvPlan plan;
  PlanTensors data;
};

TEST(EitherSide, TheSideWithMoreZerosIsSkipped) {
  for (const Operation op : kOperations)
    for (const bool packed : {false, true}) {
      if (packed && op == Operation::kWeightGrad) continue;
      const Operand data = op == Operation::kInputGrad ? Operand::kG : Operand::kA;
      const ConvRun by_data = EitherSide(op, 0.8, 0.3, packed).check();
      EXPECT_EQ(by_data.skipped, data) << operation_name(op);
      EXPECT_NEAR(by_data.zeros, 0.8, 0.1);
      const ConvRun by_weights = EitherSide(op, 0.3, 0.9, packed, 2).check();
      EXPECT_EQ(by_weights.skipped, Operand::kW) << operation_name(op);
      EXPECT_NEAR(by_weights.zeros, 0.9, 0.02);
    }
}

// Weights with a known version are not read again by any of the kernels; with another one they are.
TEST(EitherSide, WeightsArePackedOncePerVersion) {
  for (const Operation op : {Operation::kForward, Operation::kInputGrad})
    for (const double weight_zeros : {0.1, 0.95}) {
      EitherSide side(op, 0.5, weight_zeros);
      side.check(1);
      const std::vector<float> before(side.data.result().data(),
                                      side.data.result().data() + side.data.result().size());
      for (std::int64_t i = 0; i < side.data.weights.size(); ++i) side.data.weights[i] *= 2;
      ConvTensors t = side.data.tensors();
      t.weights_version = 1;
      side.plan.run(t);
      for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_EQ(side.data.result()[static_cast<std::int64_t>(i)], before[i]);
      std::copy_n(side.data.weights.data(), side.data.weights.size(), side.data.plain_weights.data());
      side.check(2);
      side.check();
    }
  ConvOptions dense = EitherSide::options(Operation::kForward, false, 1);
  dense.impl = Impl::kDenseDirect;
  ConvPlan plan(kShape, dense);
  PlanTensors data(plan);
  data.fill(plan, 0, 1);
  ConvTensors t = data.tensors();
  t.weights_version = 1;
  plan.run(t);
  const float before = data.dst[0];
  for (std::int64_t i = 0; i < data.weights.size(); ++i) data.weights[i] *= 2;
  plan.run(t);
  EXPECT_EQ(data.dst[0], before);
  t.weights_version = 2;
  plan.run(t);
  EXPECT_NEAR(data.dst[0], 2 * before, 1e-4);
}

// A weight that is kept but zero has its place: it may grow without the pattern being given again.
TEST(EitherSide, WeightsOfAPatternMayGrowFromZero) {
  for (const Operation op : kOperations) {
    EitherSide side(op, 0, 0.9);
    std::vector<std::uint8_t> kept(static_cast<std::size_t>(kShape.w_elements()));
    for (std::size_t i = 0; i < kept.size(); ++i)
      kept[i] = i % 20 == 0 || side.data.plain_weights[static_cast<std::int64_t>(i)] != 0.0F ? 1 : 0;
    side.plan.use_pattern(kept.data());
    for (std::size_t i = 0; i < kept.size(); i += 20)
      side.data.plain_weights[static_cast<std::int64_t>(i)] = 0.5F;
    if (op != Operation::kWeightGrad)
      std::copy_n(side.data.plain_weights.data(), side.data.plain_weights.size(), side.data.weights.data());
    EXPECT_EQ(side.check().skipped, Operand::kW);
    if (op == Operation::kWeightGrad) continue;
    side.plan.use_pattern(nullptr);  // looks again
    side.data.plain_weights[1] = side.data.weights[1] = 0.25F;
    EXPECT_EQ(side.check().skipped, Operand::kW);
  }
}

TEST(EitherSide, RefusesWhatCannotBe) {
  ConvOptions o = EitherSide::options(Operation::kWeightGrad, true, 1);
  EXPECT_THROW(ConvPlan(kShape, o), ConvError);
  o = EitherSide::options(Operation::kForward, false, 1);
  o.or_weights = false;
  const std::vector<std::uint8_t> kept(static_cast<std::size_t>(kShape.w_elements()), 1);
  EXPECT_THROW(ConvPlan(kShape, o).use_pattern(kept.data()), ConvError);
}

}  // namespace
}  // namespace lacuna::kernels
