// Random small layers for property tests: every geometry the format allows, drawn from a seed.
#pragma once

#include <algorithm>
#include <string>

#include "base/random.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna::testing {

struct RandomLayerLimits {
  std::int64_t channels = 40;
  std::int64_t plane = 9;
  std::int64_t samples = 3;
};

inline LayerShape random_shape(Random& random, const RandomLayerLimits& limits = {}) {
  if (random.chance(0.15)) {
    return LayerShape::linear(random.integer(1, 40), random.integer(1, limits.channels),
                              random.integer(1, limits.channels));
  }
  for (;;) {
    const std::int64_t groups = random.chance(0.25) ? random.integer(2, 4) : 1;
    const std::int64_t per_group = std::max<std::int64_t>(1, limits.channels / groups);
    const auto size2 = [&](std::int64_t low, std::int64_t high) {
      return Size2{random.integer(low, high), random.integer(low, high)};
    };
    LayerShape shape = LayerShape::conv2d(
        random.integer(1, limits.samples), groups * random.integer(1, per_group),
        groups * random.integer(1, per_group), size2(1, limits.plane),
        random.chance(0.2) ? Size2{1, 1} : size2(1, 4), random.chance(0.4) ? size2(1, 3) : Size2{1, 1},
        size2(0, 2), random.chance(0.3) ? size2(1, 3) : Size2{1, 1}, groups);
    if (shape.output.h > 0 && shape.output.w > 0) return shape;
  }
}

// Products of two activations, or a recurrent layer.
inline LayerShape random_product_shape(Random& random) {
  const std::int64_t in = random.integer(1, 40), out = random.integer(1, 40);
  if (random.chance(0.5)) return LayerShape::matmul(random.integer(1, 5), random.integer(1, 24), in, out);
  return LayerShape::recurrent(random.integer(2, 6), random.integer(1, 9), in, out);
}

inline ZeroSpec random_zeros(Random& random) {
  if (random.chance(0.05)) return ZeroSpec::all_zero();
  if (random.chance(0.1)) return ZeroSpec::dense();
  const double share = random.uniform();
  return random.chance(0.3) ? ZeroSpec::by_channel(share) : ZeroSpec::uniform(share);
}

inline Trace random_trace(std::uint64_t seed, const LayerShape& shape,
                          SyntheticContent content = SyntheticContent::kMasks) {
  Random random(seed);
  SyntheticSpec spec;
  spec.name = "random-" + std::to_string(seed);
  spec.seed = seed;
  spec.content = content;
  spec.layers.push_back(
      {"layer", shape, shape.sequence, random_zeros(random), random_zeros(random), random_zeros(random)});
  return make_synthetic(spec);
}

inline Trace random_trace(std::uint64_t seed, const RandomLayerLimits& limits = {}) {
  Random random(seed ^ 0x5eedULL);
  return random_trace(seed, random_shape(random, limits));
}

inline Trace random_products(std::uint64_t seed, SyntheticContent content = SyntheticContent::kMasks) {
  Random random(seed ^ 0xfac70ULL);
  return random_trace(seed, random_product_shape(random), content);
}

}  // namespace lacuna::testing
