// The largest values of a tensor by magnitude: what sparse training keeps.
#pragma once

#include <cstdint>

namespace lacuna::train {

// Returns how many of `count` values a density keeps: at least one, all of them at 1.
std::int64_t kept_count(std::int64_t count, double density);

// Writes the `keep` values of largest magnitude to their places in `to` and zero to all others; of equal
// magnitudes the first in memory are kept. `to` may be `from`. Returns how many results are not zero. Exact,
// and the same for any number of threads.
std::int64_t keep_largest(const float* from, std::int64_t count, std::int64_t keep, float* to, int threads);
// The same for each of `samples` tensors of `count` values.
std::int64_t keep_largest_per_sample(const float* from, std::int64_t samples, std::int64_t count,
                                     std::int64_t keep, float* to, int threads);

}  // namespace lacuna::train
