// Zeros of a recorded relative.
#include "trace/synthetic/zeros_like.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

SyntheticLayer layer(const char* name, const LayerShape& shape, double share) {
  return {name, shape, 1, ZeroSpec::uniform(share), ZeroSpec::dense(), ZeroSpec::all_zero()};
}
LayerShape conv(std::int64_t channels, std::int64_t groups = 1) {
  return LayerShape::conv2d(2, channels, channels, {12, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, groups);
}

Trace relative() {
  SyntheticSpec spec;
  spec.layers = {layer("a", conv(32), 0.1), layer("b", conv(32), 0.3), layer("c", conv(32), 0.5),
                 layer("dw", conv(32, 32), 0.7), layer("fc", LayerShape::linear(64, 64, 10), 0.9)};
  return make_synthetic(spec);
}

TEST(ZerosLike, ComeFromTheSameNameOrPlace) {
  std::vector<SyntheticLayer> layers{layer("first", conv(8), 0),
                                     layer("x", conv(8, 8), 0),
                                     layer("y", conv(8), 0),
                                     layer("a", conv(8), 0),
                                     layer("z", conv(8), 0),
                                     layer("last", LayerShape::linear(8, 4, 4), 0),
                                     layer("m", LayerShape::matmul(2, 4, 4, 4), 0)};
  const Trace trace = relative();
  // The place counts among layers of a kind; no product of activations was recorded, so all layers count.
  EXPECT_EQ(similar_layers(layers, trace), (std::vector<std::size_t>{0, 3, 1, 0, 2, 4, 4}));
  take_zeros_of(trace, layers);
  EXPECT_NEAR(layers[4].a.share, 0.5, 0.02);
  EXPECT_EQ(layers[4].w.pattern, ZeroPattern::kDense);
  EXPECT_EQ(layers[4].g.pattern, ZeroPattern::kAllZero);
  SyntheticSpec spec;
  spec.layers = layers;
  const Trace drawn = make_synthetic(spec);
  EXPECT_NEAR(drawn.layers()[5].a.zero_share(), 0.9, 0.15);
}

}  // namespace
}  // namespace lacuna
