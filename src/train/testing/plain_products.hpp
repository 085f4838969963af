// The three products of a layer in double precision by plain loops, and the tensors that a network
// multiplied.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "train/layers/network.hpp"

namespace lacuna::train {

using Doubles = std::vector<double>;

// n x c x h x w
inline Doubles plain_tensor(const Activation& like, const float* data) {
  Doubles plain;
  const std::int64_t pixels = like.shape.h * like.shape.w;
  for (std::int64_t n = 0; n < like.n; ++n)
    for (std::int64_t c = 0; c < like.shape.c; ++c)
      for (std::int64_t p = 0; p < pixels; ++p)
        plain.push_back(static_cast<double>(
            like.blocked() ? data[((n * like.blocks() + c / 16) * pixels + p) * 16 + c % 16]
                           : data[(n * like.shape.c + c) * pixels + p]));
  return plain;
}

// Calls action(place in A, place in W, place in G) for every product of the layer.
template <typename Action>
void each_product(const LayerShape& s, const Action& action) {
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t c = 0; c < s.c_per_group(); ++c)
        for (std::int64_t oy = 0; oy < s.output.h; ++oy)
          for (std::int64_t ox = 0; ox < s.output.w; ++ox)
            for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
              for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
                const std::int64_t y = oy * s.stride.h - s.padding.h + ky * s.dilation.h;
                const std::int64_t x = ox * s.stride.w - s.padding.w + kx * s.dilation.w;
                if (y < 0 || x < 0 || y >= s.input.h || x >= s.input.w) continue;
                const std::int64_t channel = k / s.k_per_group() * s.c_per_group() + c;
                action(
                    static_cast<std::size_t>(((n * s.c + channel) * s.input.h + y) * s.input.w + x),
                    static_cast<std::size_t>(((k * s.c_per_group() + c) * s.kernel.h + ky) * s.kernel.w + kx),
                    static_cast<std::size_t>(((n * s.k + k) * s.output.h + oy) * s.output.w + ox));
              }
}

inline Doubles plain_forward(const LayerShape& s, const Doubles& a, const Doubles& w) {
  Doubles out(static_cast<std::size_t>(s.g_elements()));
  each_product(s, [&](std::size_t i, std::size_t j, std::size_t o) { out[o] += a[i] * w[j]; });
  return out;
}
inline Doubles plain_input_grad(const LayerShape& s, const Doubles& w, const Doubles& g) {
  Doubles out(static_cast<std::size_t>(s.a_elements()));
  each_product(s, [&](std::size_t i, std::size_t j, std::size_t o) { out[i] += w[j] * g[o]; });
  return out;
}
inline Doubles plain_weight_grad(const LayerShape& s, const Doubles& a, const Doubles& g) {
  Doubles out(static_cast<std::size_t>(s.w_elements()));
  each_product(s, [&](std::size_t i, std::size_t j, std::size_t o) { out[j] += a[i] * g[o]; });
  return out;
}

// The largest of each of `parts` equal parts, by sorting.
inline Doubles plain_largest(const Doubles& values, double density, std::size_t parts) {
  Doubles kept(values.size());
  const std::size_t size = values.size() / parts;
  const auto keep =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(density * static_cast<double>(size))));
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), part * size);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::fabs(values[a]) > std::fabs(values[b]);
    });
    for (std::size_t i = 0; i < keep; ++i) kept[order[i]] = values[order[i]];
  }
  return kept;
}

// The largest difference, in units of the largest expected value.
inline double difference(const Doubles& expected, const Doubles& found) {
  double most = 1e-30, apart = expected.size() == found.size() ? 0 : 1e30;
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    most = std::max(most, std::fabs(expected[i]));
    apart = std::max(apart, std::fabs(expected[i] - found[i]));
  }
  return apart / most;
}

}  // namespace lacuna::train
