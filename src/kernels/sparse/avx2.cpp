// AVX2 and FMA: a vector of 16 is two registers, so that four output vectors fill half of the sixteen.
#include <immintrin.h>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 8;
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/sparse/pixel_kernel.hpp"

// 8 x 8 floats in registers: 24 shuffles instead of 64 loads and stores of single floats.
LACUNA_INLINE void transpose8(const float* const (&rows)[8], float* dst, std::ptrdiff_t dst_stride) {
  __m256 a[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(rows[i]);
  __m256 t[8];  // t[4g + j]: columns j and j + 4 of the four rows of group g
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    const __m256 lo01 = _mm256_unpacklo_ps(a[4 * g], a[4 * g + 1]);
    const __m256 hi01 = _mm256_unpackhi_ps(a[4 * g], a[4 * g + 1]);
    const __m256 lo23 = _mm256_unpacklo_ps(a[4 * g + 2], a[4 * g + 3]);
    const __m256 hi23 = _mm256_unpackhi_ps(a[4 * g + 2], a[4 * g + 3]);
    t[4 * g] = _mm256_shuffle_ps(lo01, lo23, 0x44);
    t[4 * g + 1] = _mm256_shuffle_ps(lo01, lo23, 0xee);
    t[4 * g + 2] = _mm256_shuffle_ps(hi01, hi23, 0x44);
    t[4 * g + 3] = _mm256_shuffle_ps(hi01, hi23, 0xee);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    _mm256_storeu_ps(dst + j * dst_stride, _mm256_permute2f128_ps(t[j], t[4 + j], 0x20));
    _mm256_storeu_ps(dst + (4 + j) * dst_stride, _mm256_permute2f128_ps(t[j], t[4 + j], 0x31));
  }
}

void transpose_tile(const float* src, const std::ptrdiff_t* pixel_offsets, int count, float* dst,
                    std::ptrdiff_t dst_stride) {
  alignas(32) static constexpr float kZeros[kLanes] = {};
  const int padded = (count + kLanes - 1) / kLanes * kLanes;
  for (int p = 0; p < padded; p += 8) {
    const float* rows[8];
    for (int i = 0; i < 8; ++i) rows[i] = p + i < count ? src + pixel_offsets[p + i] : kZeros;
    transpose8(rows, dst + p, dst_stride);
    for (int i = 0; i < 8; ++i) rows[i] += 8;
    transpose8(rows, dst + 8 * dst_stride + p, dst_stride);
  }
}

}  // namespace

constinit const MicroKernels kAvx2Kernels = {
    .isa = "avx2",
    .pixel_vectors = 4,
    .pixel = {{}, LACUNA_PIXEL_ROW(1), LACUNA_PIXEL_ROW(2), LACUNA_PIXEL_ROW(3), LACUNA_PIXEL_ROW(4)},
    .transpose = transpose_tile,
    .gather = gather_tile,
    .peak = peak_loop,
};

}  // namespace lacuna::kernels
