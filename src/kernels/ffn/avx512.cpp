// AVX-512: four columns of vectors of a panel at a time.
#include <immintrin.h>

#include "kernels/ffn/tile_loops.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline

namespace lacuna::kernels {
namespace {

#include "kernels/ffn/avx512_simd.hpp"
#include "kernels/ffn/tile_loops_simd.hpp"

std::int64_t keep_nonzeros(const float* from, std::int64_t count, bool positive, float threshold,
                           float* values, std::uint16_t* offsets) {
  const __m512 limit = _mm512_set1_ps(threshold);
  __m512i offset = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                      _mm512_set1_epi32(kPanelColumns));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto valid = static_cast<__mmask16>(count - i >= kLanes ? 0xffff : (1 << (count - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(valid, from + i);
    const __mmask16 mask = positive ? _mm512_mask_cmp_ps_mask(valid, x, limit, _CMP_NLE_UQ)
                                    : _mm512_mask_cmp_ps_mask(valid, x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_ps(values + found, _mm512_maskz_compress_ps(mask, x));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(offsets + found),
                        _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, offset)));
    found += __builtin_popcount(mask);
    offset = _mm512_add_epi32(offset, _mm512_set1_epi32(kLanes * kPanelColumns));
  }
  return found;
}

}  // namespace

constinit const TileLoops kAvx512TileLoops = {"avx512", gather_tile_sums, tile_dots, keep_nonzeros};

}  // namespace lacuna::kernels
