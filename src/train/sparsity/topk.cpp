#include "train/sparsity/topk.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <omp.h>
#include <vector>

namespace lacuna::train {
namespace {

// Magnitudes of floats are ordered as their bits without the sign are.
std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU; }

// Magnitudes above `limit` are kept, and the first `ties` of those that equal it.
struct Cut {
  std::uint32_t limit = 0;
  std::int64_t ties = 0;
  std::int64_t equal = 0;  // how many there are
};

// Below this many values sorting is faster than clearing the counters of count_buckets().
constexpr std::int64_t kFewValues = 1 << 15;

Cut cut_by_sorting(const float* values, std::int64_t count, std::int64_t keep) {
  std::vector<std::uint32_t> sorted(static_cast<std::size_t>(count));
  std::transform(values, values + count, sorted.begin(), magnitude);
  std::nth_element(sorted.begin(), sorted.begin() + (keep - 1), sorted.end(), std::greater<>());
  Cut cut{sorted[static_cast<std::size_t>(keep - 1)], keep, 0};
  for (const std::uint32_t m : sorted) {
    cut.ties -= m > cut.limit ? 1 : 0;
    cut.equal += m == cut.limit ? 1 : 0;
  }
  return cut;
}

// Counts magnitudes by their bits: the high ones first, then the low bits of those in one bucket. Zeros,
// which are most values of many tensors, are left out: they never decide.
constexpr int kLowBits = 15;
constexpr std::size_t kBuckets = 1U << 16U;
template <typename Bucket>
std::vector<std::int64_t> count_buckets(const float* values, std::int64_t count, int threads,
                                        const Bucket& bucket) {
  std::vector<std::vector<std::uint32_t>> parts(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    std::vector<std::uint32_t>& part = parts[static_cast<std::size_t>(omp_get_thread_num())];
    part.assign(kBuckets + 1, 0);
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t m = magnitude(values[i]);
      if (m != 0) ++part[bucket(m)];
    }
  }
  std::vector<std::int64_t> sum(kBuckets);
  for (const auto& part : parts)
    for (std::size_t b = 0; b < kBuckets && !part.empty(); ++b) sum[b] += part[b];
  return sum;
}

// Returns the bucket of the `keep`-th largest value, and its place in that bucket in `keep`; kBuckets if
// there are fewer values.
std::size_t bucket_of(const std::vector<std::int64_t>& counts, std::int64_t& keep) {
  for (std::size_t b = kBuckets; b-- > 0;) {
    if (keep <= counts[b]) return b;
    keep -= counts[b];
  }
  return kBuckets;
}

Cut cut_by_counting(const float* values, std::int64_t count, std::int64_t keep, int threads) {
  const auto high =
      bucket_of(count_buckets(values, count, threads, [](std::uint32_t m) { return m >> kLowBits; }), keep);
  if (high == kBuckets) return {};  // all that are not zero are kept
  // Values of other buckets go into one past the end.
  const auto counts = count_buckets(values, count, threads, [high](std::uint32_t m) {
    return m >> kLowBits == high ? m & ((1U << kLowBits) - 1) : kBuckets;
  });
  const std::size_t low = bucket_of(counts, keep);
  return {static_cast<std::uint32_t>(high << kLowBits | low), keep, counts[low]};
}

std::int64_t copy_kept(const float* from, std::int64_t count, const Cut& cut, float* to, int threads) {
  std::int64_t kept = 0;
  if (cut.limit == 0 || cut.ties == cut.equal) {
    const std::uint32_t least = std::max(cut.limit, 1U);
#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(+ : kept)
    for (std::int64_t i = 0; i < count; ++i) {
      const bool keeps = magnitude(from[i]) >= least;
      to[i] = keeps ? from[i] : 0;
      kept += keeps ? 1 : 0;
    }
    return kept;
  }
  std::int64_t ties = cut.ties;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t m = magnitude(from[i]);
    const bool keeps = m > cut.limit || (m == cut.limit && ties-- > 0);
    to[i] = keeps ? from[i] : 0;
    kept += keeps ? 1 : 0;
  }
  return kept;
}

}  // namespace

std::int64_t kept_count(std::int64_t count, double density) {
  return std::clamp<std::int64_t>(std::llround(density * static_cast<double>(count)), 1, count);
}

std::int64_t keep_largest(const float* from, std::int64_t count, std::int64_t keep, float* to, int threads) {
  if (keep <= 0 || count == 0) {
    std::fill_n(to, count, 0.0F);
    return 0;
  }
  keep = std::min(keep, count);
  const Cut cut =
      count < kFewValues ? cut_by_sorting(from, count, keep) : cut_by_counting(from, count, keep, threads);
  return copy_kept(from, count, cut, to, count < kFewValues ? 1 : threads);
}

std::int64_t keep_largest_per_sample(const float* from, std::int64_t samples, std::int64_t count,
                                     std::int64_t keep, float* to, int threads) {
  std::int64_t kept = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : kept)
  for (std::int64_t n = 0; n < samples; ++n)
    kept += keep_largest(from + n * count, count, keep, to + n * count, 1);
  return kept;
}

}  // namespace lacuna::train
