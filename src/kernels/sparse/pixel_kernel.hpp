// The pixel kernel, for any vector type. Included by one file per instruction set, inside that file's unnamed
// namespace, so that no code compiled for one instruction set can be merged with another's by the linker.
// Needs a type `Simd` with V, load, store, broadcast, fma, add, zero, nonzero.

#define LACUNA_INLINE __attribute__((always_inline)) inline
// Keeps a pointer in one register, so that every multiply-add uses base + constant: an indexed address splits
// the fused operation in two on Intel's cores.
#define LACUNA_PIN(pointer) __asm__("" : "+r"(pointer))

template <int KV>
struct Accumulators {
  Simd::V v[KV];
};

template <int NB>
LACUNA_INLINE std::uint64_t pixel_mask(const float* src, std::ptrdiff_t block) {
  std::uint64_t mask = 0;
#pragma GCC unroll 4
  for (int b = 0; b < NB; ++b)
    mask |= static_cast<std::uint64_t>(Simd::nonzero(Simd::load(src + b * block))) << (kLanes * b);
  return mask;
}

template <int KV>
LACUNA_INLINE void load_accumulators(Accumulators<KV>& acc, const float* from, std::ptrdiff_t block) {
#pragma GCC unroll 16
  for (int k = 0; k < KV; ++k) acc.v[k] = Simd::load(from + k * block);
}

// The non-zeros of one pixel. With very few output vectors a second set of sums hides the latency of the
// multiply-add (4 cycles, up to 2 per cycle: at least 8 sums in flight). With four it does not pay: sums of
// the next pixel overlap with these anyway, and the pair adds an unpredictable branch (1x1, 256 to
// 64 channels, 56x56: 5 % slower).
template <int KV, int NB>
LACUNA_INLINE void add_pixel(Accumulators<KV>& acc, std::uint64_t mask, const float* src,
                             std::ptrdiff_t extra, const float* weights) {
  auto value = [&](std::size_t i) LACUNA_LAMBDA_INLINE {
    return NB == 1 ? Simd::broadcast(src + i)
                   : Simd::broadcast(src + i + static_cast<std::ptrdiff_t>(i / kLanes) * extra);
  };
  if constexpr (KV <= Simd::kTwoChainsBelow) {
    Accumulators<KV> second;
#pragma GCC unroll 16
    for (int k = 0; k < KV; ++k) second.v[k] = Simd::zero();
    int left = __builtin_popcountll(mask);
    for (; left >= 2; left -= 2) {
      const std::size_t i = static_cast<std::size_t>(__builtin_ctzll(mask));
      mask &= mask - 1;
      const std::size_t j = static_cast<std::size_t>(__builtin_ctzll(mask));
      mask &= mask - 1;
      const float* wi = weights + i * (KV * kLanes);
      const float* wj = weights + j * (KV * kLanes);
      LACUNA_PIN(wi);
      LACUNA_PIN(wj);
      const Simd::V vi = value(i);
      const Simd::V vj = value(j);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) acc.v[k] = Simd::fma(vi, Simd::load(wi + k * kLanes), acc.v[k]);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) second.v[k] = Simd::fma(vj, Simd::load(wj + k * kLanes), second.v[k]);
    }
    if (left != 0) {
      const std::size_t i = static_cast<std::size_t>(__builtin_ctzll(mask));
      const float* wi = weights + i * (KV * kLanes);
      LACUNA_PIN(wi);
      const Simd::V vi = value(i);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) acc.v[k] = Simd::fma(vi, Simd::load(wi + k * kLanes), acc.v[k]);
    }
#pragma GCC unroll 16
    for (int k = 0; k < KV; ++k) acc.v[k] = Simd::add(acc.v[k], second.v[k]);
  } else {
    while (mask != 0) {
      const std::size_t i = static_cast<std::size_t>(__builtin_ctzll(mask));
      mask &= mask - 1;
      const float* wi = weights + i * (KV * kLanes);
      LACUNA_PIN(wi);
      const Simd::V vi = value(i);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) acc.v[k] = Simd::fma(vi, Simd::load(wi + k * kLanes), acc.v[k]);
    }
  }
}

template <int KV>
LACUNA_INLINE void store_accumulators(const Accumulators<KV>& acc, float* to, std::ptrdiff_t block) {
#pragma GCC unroll 16
  for (int k = 0; k < KV; ++k) Simd::store(to + k * block, acc.v[k]);
}

// Calls fetch(pixel, its number from here) and add(pixel) for each pixel of a run: the next one is fetched
// before the loop over this one's non-zeros, so that its mispredicted end does not wait for masks and sums.
// [SparseTrain issues the next compare early, too] add() moves on by a pixel.
template <typename Pixel, typename Fetch, typename Add>
LACUNA_INLINE void in_pipeline(std::int64_t left, const Fetch& fetch, const Add& add) {
  Pixel even;
  Pixel odd;
  fetch(even, 0);
  for (; left > 2; left -= 2) {
    fetch(odd, 1);
    add(even);
    fetch(even, 1);
    add(odd);
  }
  if (left == 2) fetch(odd, 1);
  add(even);
  if (left == 2) add(odd);
}

template <int KV, int NB>
void pixel_kernel(const PixelRun& run) {
  struct Pixel {
    Accumulators<KV> sums;
    std::uint64_t mask;
  };
  const std::ptrdiff_t extra = run.src_block - kLanes;
  const float* src = run.src;
  float* dst = run.dst;
  const std::ptrdiff_t* ahead_offset = run.ahead_offsets;
  const auto fetch = [&](Pixel& pixel, std::ptrdiff_t ahead) LACUNA_LAMBDA_INLINE {
    pixel.mask = pixel_mask<NB>(src + ahead * run.src_step, run.src_block);
    if (run.init != nullptr)
      load_accumulators<KV>(pixel.sums, run.init, kLanes);
    else
      load_accumulators<KV>(pixel.sums, dst + ahead * run.dst_step, run.dst_block);
  };
  const auto add = [&](Pixel& pixel) LACUNA_LAMBDA_INLINE {
    if (run.results_ahead != 0)
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) __builtin_prefetch(dst + run.results_ahead + k * kLanes, 1, 3);
    if (run.ahead != nullptr)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) __builtin_prefetch(run.ahead + *ahead_offset++, 0, 2);
    add_pixel<KV, NB>(pixel.sums, pixel.mask, src, extra, run.weights);
    store_accumulators<KV>(pixel.sums, dst, run.dst_block);
    src += run.src_step;
    dst += run.dst_step;
  };
  if constexpr (Simd::kPipelined) {
    in_pipeline<Pixel>(run.count, fetch, add);
  } else {
    for (std::int64_t p = 0; p < run.count; ++p) {
      Pixel pixel;
      fetch(pixel, 0);
      add(pixel);
    }
  }
}

void gather_tile(const float* src, std::ptrdiff_t src_block, const std::ptrdiff_t* pixel_offsets, int count,
                 int vectors, float* dst) {
  for (int p = 0; p < count; ++p)
    for (int k = 0; k < vectors; ++k, dst += kLanes)
      Simd::store(dst, Simd::load(src + pixel_offsets[p] + k * src_block));
}

double peak_loop(std::int64_t turns) {
  constexpr int kSums = Simd::kPeakSums;
  alignas(64) float start[kSums + 1][kLanes];  // all different: equal sums would be computed once
  for (int i = 0; i <= kSums; ++i)
    for (int lane = 0; lane < kLanes; ++lane) start[i][lane] = 1e-3F * static_cast<float>(i * kLanes + lane);
  __asm__ volatile("" : : "r"(start) : "memory");
  Simd::V sums[kSums];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) sums[i] = Simd::load(start[i]);
  const Simd::V x = Simd::load(start[kSums]);
  for (std::int64_t t = 0; t < turns; ++t) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sums[i % kSums] = Simd::fma(x, sums[i % kSums], x);
  }
#pragma GCC unroll 16
  for (int i = 1; i < kSums; ++i) sums[0] = Simd::add(sums[0], sums[i]);
  Simd::store(start[0], sums[0]);
  __asm__ volatile("" : : "r"(start) : "memory");
  return static_cast<double>(turns) * 16 * 2 * kLanes;
}

#define LACUNA_PIXEL_ROW(KV) \
  { nullptr, pixel_kernel<KV, 1>, pixel_kernel<KV, 2>, pixel_kernel<KV, 3>, pixel_kernel<KV, 4> }
