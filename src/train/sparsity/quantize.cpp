#include "train/sparsity/quantize.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::train {

std::int64_t quantize(const float* from, std::int64_t count, int bits, float* to) {
  float most = 0, least = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    most = std::max(most, from[i]);
    least = std::min(least, from[i]);
  }
  const auto levels = static_cast<float>(least < 0 ? (1 << (bits - 1)) - 1 : (1 << bits) - 1);
  const float step = std::max(most, -least) / levels;
  // Nothing but zeros; or values so small that their step is denormal, which rounding would lose.
  if (!std::isnormal(step)) {
    std::copy_n(from, count, to);
    return std::count_if(from, from + count, [](float v) { return v != 0; });
  }
  const float per_step = 1 / step;
  std::int64_t nonzeros = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float multiple = std::nearbyint(from[i] * per_step);
    to[i] = multiple * step;
    nonzeros += multiple != 0 ? 1 : 0;
  }
  return nonzeros;
}

std::int64_t quantize_per_sample(const float* from, std::int64_t samples, std::int64_t count, int bits,
                                 float* to, int threads) {
  std::int64_t nonzeros = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : nonzeros)
  for (std::int64_t n = 0; n < samples; ++n)
    nonzeros += quantize(from + n * count, count, bits, to + n * count);
  return nonzeros;
}

}  // namespace lacuna::train
