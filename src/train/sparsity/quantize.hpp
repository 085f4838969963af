// Values rounded to a few bits: small ones become zero [TensorDash §1].
#pragma once

#include <cstdint>

namespace lacuna::train {

inline constexpr int kFewestBits = 2;
inline constexpr int kMostBits = 8;

// Rounds to the nearest of the values that `bits` bits have between the least and the largest: the multiples
// of a step, which is the largest magnitude / (2^(bits - 1) - 1), or / (2^bits - 1) where no value is
// negative. Halves go to the even multiple. Zero stays zero. `to` may be `from`. Returns how many results are
// not zero.
std::int64_t quantize(const float* from, std::int64_t count, int bits, float* to);
// The same for each of `samples` tensors of `count` values, with a step for each.
std::int64_t quantize_per_sample(const float* from, std::int64_t samples, std::int64_t count, int bits,
                                 float* to, int threads);

}  // namespace lacuna::train
