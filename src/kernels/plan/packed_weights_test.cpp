// Packed weights: the packing that has a gradient is the one that is unpacked; the order of taps.
#include "kernels/plan/packed_weights.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

TEST(PackedWeights, OnePackingNeedsNoHeader) {
  std::vector<float> buffer(64, 7.0F);
  PackedWeights packing;
  EXPECT_EQ(packing.add(32), 0U);
  EXPECT_EQ(packing.floats(), 32);
  packing.mark(buffer.data(), 0);
  EXPECT_EQ(buffer[0], 7.0F);
  EXPECT_EQ(packing.marked(buffer.data()), 0U);
  EXPECT_EQ(packing.at(buffer.data(), 0), buffer.data());
}

TEST(PackedWeights, SeveralPackingsLieBehindAHeader) {
  PackedWeights packing;
  packing.add(33);  // is rounded up to 48
  EXPECT_EQ(packing.add(20), 1U);
  EXPECT_EQ(packing.floats(), 16 + 48 + 20);
  EXPECT_EQ(packing.add(5), 2U);
  EXPECT_EQ(packing.floats(), 16 + 48 + 32 + 5);
  std::vector<float> buffer(static_cast<std::size_t>(packing.floats()), 1.5F);
  EXPECT_EQ(packing.at(buffer.data(), 0), buffer.data() + 16);
  EXPECT_EQ(packing.at(buffer.data(), 1), buffer.data() + 16 + 48);
  EXPECT_EQ(packing.at(buffer.data(), 2), buffer.data() + 16 + 48 + 32);
  EXPECT_EQ(packing.marked(buffer.data()), PackedWeights::kNone);  // bits that no plan wrote
  for (const std::size_t one : {2, 0, 1}) {
    packing.mark(buffer.data(), one);
    EXPECT_EQ(packing.marked(buffer.data()), one);
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

// All taps of a piece of the weights, in the order that the 3x3 kernels read, and back.
TEST(PackedWeights, TapsOfAPieceAndBack) {
  for (const auto& [c, k, taps] : {std::array<std::int64_t, 3>{32, 48, 3}, {20, 33, 3}, {16, 16, 5}})
    for (const bool checked_is_input : {true, false})
      for (const bool turned : {true, false})
        for (const std::int64_t outs : {16, 32}) {
          const LayerShape shape = LayerShape::conv2d(1, c, k, {8, 8}, {taps, taps}, {1, 1}, {1, 1});
          const std::int64_t all_taps = taps * taps, row = all_taps * outs;
          std::vector<float> plain(static_cast<std::size_t>(shape.w_elements()));
          for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i + 1);
          const std::int64_t checked = checked_is_input ? c : k, other = checked_is_input ? k : c;
          const std::int64_t channels = round_up(checked, kLanes);
          const WeightOrder order(shape, checked_is_input, false,
                                  {WeightOrder::Taps::kInside, turned, turned},
                                  {{0, round_up(other, outs) / kLanes}});
          std::vector<float> back(plain.size());
          for (std::int64_t out = 0; out < other; out += outs) {
            std::vector<float> packed(static_cast<std::size_t>(channels * row), -1);
            const WeightPiece piece{0, {out / kLanes, outs / kLanes}, 0, channels};
            order.pack_piece(plain.data(), piece, packed.data());
            for (std::int64_t i = 0; i < channels * row; ++i) {
              const std::int64_t from = i / row, to = out + i % outs, tap = i % row / outs;
              const std::int64_t from_tap = turned ? all_taps - 1 - tap : tap;
              const std::int64_t kk = checked_is_input ? to : from, cc = checked_is_input ? from : to;
              const float expected =
                  kk < k && cc < c ? static_cast<float>((kk * c + cc) * all_taps + from_tap + 1) : 0;
              ASSERT_EQ(packed[static_cast<std::size_t>(i)], expected) << shape.describe() << " at " << i;
            }
            order.unpack_piece(packed.data(), piece, back.data());
          }
          EXPECT_EQ(back, plain) << shape.describe();
        }
}

}  // namespace
}  // namespace lacuna::kernels
