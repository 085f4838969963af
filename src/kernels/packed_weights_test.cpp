// Packed weights: which of two packings holds a gradient, and that unpacking takes that one.
#include "kernels/packed_weights.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/dispatch/tensors.hpp"
#include "kernels/ref/ref_conv.hpp"

namespace lacuna::kernels {
namespace {

using Holds = PackedWeights::Holds;

TEST(PackedWeights, OnePackingNeedsNoHeader) {
  std::vector<float> buffer(64, 7.0F);
  for (const auto& [packing, holds] :
       {std::pair{PackedWeights(32, 0), Holds::kSparse}, std::pair{PackedWeights(0, 32), Holds::kDense}}) {
    EXPECT_EQ(packing.floats(), 32);
    packing.mark(buffer.data(), Holds::kBoth);
    EXPECT_EQ(buffer[0], 7.0F);
    EXPECT_EQ(packing.holds(buffer.data()), holds);
    EXPECT_EQ(holds == Holds::kSparse ? packing.sparse(buffer.data()) : packing.dense(buffer.data()),
              buffer.data());
  }
}

TEST(PackedWeights, TwoPackingsLieBehindAHeader) {
  const PackedWeights packing(33, 20);  // 33 is rounded up to 48
  EXPECT_EQ(packing.floats(), 16 + 48 + 20);
  std::vector<float> buffer(static_cast<std::size_t>(packing.floats()), 1.5F);
  EXPECT_EQ(packing.sparse(buffer.data()), buffer.data() + 16);
  EXPECT_EQ(packing.dense(buffer.data()), buffer.data() + 16 + 48);
  EXPECT_EQ(packing.holds(buffer.data()), Holds::kNothing);  // bits that no plan wrote
  for (const Holds holds : {Holds::kSparse, Holds::kDense, Holds::kBoth, Holds::kNothing}) {
    packing.mark(buffer.data(), holds);
    EXPECT_EQ(packing.holds(buffer.data()), holds);
  }
}

// `strict` computes densely where the other operand has an Inf: the gradient is then in the dense packing.
TEST(PackedWeights, UnpackingTakesTheGradientThatWasComputed) {
  const LayerShape shape = LayerShape::conv2d(1, 16, 16, {4, 4}, {3, 3}, {1, 1}, {1, 1});
  ConvOptions o;
  o.op = Operation::kWeightGrad;
  o.impl = Impl::kSparse;
  o.strict = true;
  o.weights = WeightLayout::kPacked;
  ConvPlan plan(shape, o);
  PlanTensors data(plan);
  std::vector<float> gradient(static_cast<std::size_t>(shape.w_elements()));
  try {
    plan.unpack_weights(data.weights.data(), gradient.data());
    FAIL() << "nothing was computed yet";
  } catch (const ConvError& e) {
    EXPECT_EQ(e.code(), ConvError::Code::kOption);
  }
  for (const bool broken : {true, false, true}) {
    data.fill(plan, 0.5, 4);
    if (broken) data.dst[data.dst.size() - 1] = std::numeric_limits<float>::infinity();
    const Impl used = plan.run(data.tensors()).used;
    EXPECT_EQ(used, broken ? Impl::kDenseDirect : Impl::kSparse);
    plan.unpack_weights(data.weights.data(), gradient.data());
    std::vector<double> expected(gradient.size());
    RefConv(shape, o).run(data.tensors(), expected.data());
    for (std::size_t i = 0; i < gradient.size(); ++i)
      if (std::isfinite(expected[i]))
        ASSERT_NEAR(gradient[i], expected[i], 1e-4) << i;
      else
        ASSERT_FALSE(std::isfinite(gradient[i])) << i;
  }
}

}  // namespace
}  // namespace lacuna::kernels
