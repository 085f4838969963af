#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/layer_shape.hpp"
#include "tensor/mask_view.hpp"
#include "tensor/operation.hpp"

namespace lacuna {
namespace {

TEST(Operation, OnlyTheFirstLayerHasNoInputGradient) {
  for (const Operation op : kOperations) {
    EXPECT_EQ(has_operation(0, op), op != Operation::kInputGrad);
    EXPECT_TRUE(has_operation(1, op));
  }
}

TEST(LayerShape, OutputSizeAndMacs) {
  const LayerShape shape = LayerShape::conv2d(2, 64, 128, {56, 56}, {3, 3}, {2, 2}, {1, 1});
  EXPECT_EQ(shape.output, (Size2{28, 28}));
  EXPECT_EQ(shape.macs(), 2LL * 28 * 28 * 128 * 9 * 64);
  EXPECT_NO_THROW(shape.validate("test"));
  EXPECT_EQ(shape.describe(), "3x3 64->128 @56x56 s2");
}

TEST(LayerShape, RejectsWhatDoesNotFit) {
  LayerShape shape = LayerShape::conv2d(1, 8, 8, {5, 5}, {3, 3});
  shape.output.h = 4;
  EXPECT_THROW(shape.validate("t"), InputError);
  shape = LayerShape::conv2d(1, 8, 9, {5, 5}, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 3);
  EXPECT_THROW(shape.validate("t"), InputError);
  shape = LayerShape::conv2d(1, 8, 8, {2, 2}, {3, 3});
  EXPECT_THROW(shape.validate("t"), InputError);  // the kernel does not fit: no output
  // Wraps to a span of 1 in 64 bits.
  shape = LayerShape::conv2d(1, 8, 8, {9, 9}, {5, 5}, {1, 1}, {0, 0}, {std::int64_t{1} << 62, 1});
  EXPECT_EQ(shape.output.h, 0);
  EXPECT_EQ(LayerShape::conv2d(1, 8, 8, {9, 9}, {5, 5}, {0, -1}).output, (Size2{0, 0}));
  shape = LayerShape::linear(1 << 24, 1 << 24, 1 << 24);
  EXPECT_THROW(shape.validate("t"), InputError);
}

TEST(MaskView, CountsWithTailsAndSharedRows) {
  const std::vector<std::uint8_t> bytes{0xff, 0x03, 0x01, 0x00};
  EXPECT_EQ(count_nonzeros(MaskView{bytes.data(), 2, 10, 2}), 11);
  EXPECT_EQ(count_nonzeros(MaskView{bytes.data(), 5, 10, 0}), 50);
  const std::vector<std::uint8_t> many(1000, 0x11);
  EXPECT_EQ(count_nonzeros(MaskView{many.data(), 1000, 8, 1}), 2000);
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(round_to_bfloat16(1.0F), 1.0F);
  EXPECT_EQ(round_to_bfloat16(1.00390625F), 1.0F);       // a tie goes to even
  EXPECT_EQ(round_to_bfloat16(1.01171875F), 1.015625F);  // the other tie goes up
  EXPECT_TRUE(std::isnan(round_to_bfloat16(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isinf(round_to_bfloat16(std::numeric_limits<float>::max())));
}

}  // namespace
}  // namespace lacuna
