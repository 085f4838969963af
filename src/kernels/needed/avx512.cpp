// AVX-512: eight results at a time, whose sums hide the latency of the multiply-adds.
#include <immintrin.h>

#include "kernels/needed/needed_loops.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline

namespace lacuna::kernels {
namespace {

#include "kernels/ffn/avx512_simd.hpp"
#include "kernels/needed/dots_simd.hpp"

constexpr std::int64_t kMostPixels = 512;

// The non-zero channels of a pixel are a mask; bit c of all of them is a mask of pixels for channel c. First
// all masks, then the lists: a load of masks just stored one by one would wait for them.
void list_pixels(const NeededRow& row, std::int64_t first, std::int64_t count) {
  alignas(64) std::uint16_t masks[kMostPixels];
  for (std::int64_t p = 0; p < count; ++p) {
    const float* pixel = row.src + (first + p) * row.src_step;
    masks[p] = _cvtmask16_u32(_mm512_cmp_ps_mask(_mm512_loadu_ps(pixel), _mm512_setzero_ps(), _CMP_NEQ_UQ));
  }
  for (std::int64_t p = count; p % kLanes != 0; ++p) masks[p] = 0;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i slots = _mm512_add_epi32(_mm512_set1_epi32(row.first_slot + static_cast<int>(first)), lanes);
  for (int c = 0; c < kLanes; ++c) {
    const __m256i bit = _mm256_set1_epi16(static_cast<short>(1 << c));
    std::uint16_t* to = row.slots + c * row.stride + row.counts[c];
    __m512i slot = slots;
    for (std::int64_t p = 0; p < count; p += kLanes) {
      const __mmask16 pixels =
          _mm256_test_epi16_mask(_mm256_load_si256(reinterpret_cast<const __m256i*>(masks + p)), bit);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                          _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(pixels, slot)));
      to += __builtin_popcount(_cvtmask16_u32(pixels));
      slot = _mm512_add_epi32(slot, _mm512_set1_epi32(kLanes));
    }
    row.counts[c] = static_cast<std::int32_t>(to - row.slots - c * row.stride);
  }
}

void list_row(const NeededRow& row) {
  for (std::int64_t x = 0; x < row.width; x += kMostPixels)
    list_pixels(row, x, row.width - x < kMostPixels ? row.width - x : kMostPixels);
}

void dots(const NeededDots& d) {
  std::int64_t i = 0;
  for (; d.count - i > 4; i += 8) dot_group<8>(d, d.slots + i, d.sums + i);
  if (i < d.count) dot_group<4>(d, d.slots + i, d.sums + i);
}

}  // namespace

constinit const NeededLoops kAvx512NeededLoops = {"avx512", list_row, dots};

}  // namespace lacuna::kernels
