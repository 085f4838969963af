// AVX2 and FMA: a vector of 16 is two registers, so that four output vectors fill half of the sixteen.
#include <immintrin.h>

#include "kernels/sparse/microkernels.hpp"

#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))

namespace lacuna::kernels {
namespace {

struct Simd {
  struct V {
    __m256 lo, hi;
  };
  static constexpr bool kPipelined = false;
  static constexpr int kPeakSums = 4;
  static constexpr int kTwoChainsBelow = 3;
  __attribute__((always_inline)) static V load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
  }
  __attribute__((always_inline)) static void store(float* p, V v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  __attribute__((always_inline)) static V broadcast(const float* p) {
    const __m256 x = _mm256_broadcast_ss(p);
    return {x, x};
  }
  __attribute__((always_inline)) static V fma(V a, V b, V c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  __attribute__((always_inline)) static V add(V a, V b) {
    return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
  }
  __attribute__((always_inline)) static V zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  __attribute__((always_inline)) static std::uint32_t nonzero(V v) {
    const __m256 z = _mm256_setzero_ps();
    const auto lo = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(v.lo, z, _CMP_NEQ_UQ)));
    const auto hi = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(v.hi, z, _CMP_NEQ_UQ)));
    return lo | (hi << 8);
  }
};

#include "kernels/sparse/pixel_kernel.hpp"
#include "kernels/sparse/transpose_portable.hpp"

}  // namespace

constinit const MicroKernels kAvx2Kernels = {
    .isa = "avx2",
    .pixel_vectors = 4,
    .pixel = {LACUNA_NO_PIXEL_ROW, LACUNA_PIXEL_ROW(1), LACUNA_PIXEL_ROW(2), LACUNA_PIXEL_ROW(3),
              LACUNA_PIXEL_ROW(4), LACUNA_NO_PIXEL_ROW, LACUNA_NO_PIXEL_ROW, LACUNA_NO_PIXEL_ROW,
              LACUNA_NO_PIXEL_ROW},
    .transpose = transpose_tile,
    .gather = gather_tile,
    .peak = peak_loop,
};

}  // namespace lacuna::kernels
