#include <immintrin.h>

#include "kernels/dense1x1/tile_kernel.hpp"

namespace lacuna::kernels {
namespace {

template <int kPixels, int kBlocks>
void run_tile(const PixelTile& t) {
  __m512 sums[kPixels][kBlocks];
  if (t.bias != nullptr) {
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) {
        sums[p][b] = _mm512_loadu_ps(t.bias + 16 * b);
        _mm_prefetch(reinterpret_cast<const char*>(t.dst + 16 * p + b * t.dst_block), _MM_HINT_T0);
      }
  } else {
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) sums[p][b] = _mm512_loadu_ps(t.dst + 16 * p + b * t.dst_block);
  }
  const float* weights = t.weights;
  const float* src = t.src;
  const float* next = t.next;
  for (std::int64_t block = 0; block < t.blocks; ++block, src += t.src_block, next += t.src_block) {
    // All 16 unrolled are 5 KB of code, which on a shared core was 5 to 10 % slower than four.
#pragma GCC unroll 4
    for (int c = 0; c < 16; ++c, weights += 16 * kBlocks) {
      constexpr int kAhead = 256;  // floats
      __m512 w[kBlocks];
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) {
        w[b] = _mm512_loadu_ps(weights + 16 * b);
        _mm_prefetch(reinterpret_cast<const char*>(weights + 16 * b + kAhead), _MM_HINT_T0);
      }
      if (c < kPixels) _mm_prefetch(reinterpret_cast<const char*>(next + 16 * c), _MM_HINT_T1);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const __m512 x = _mm512_set1_ps(src[16 * p + c]);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) sums[p][b] = _mm512_fmadd_ps(x, w[b], sums[p][b]);
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) {
      __m512 value = sums[p][b];
      if (t.relu) value = _mm512_max_ps(_mm512_setzero_ps(), value);  // the second operand if one is NaN
      _mm512_storeu_ps(t.dst + 16 * p + b * t.dst_block, value);
    }
}

}  // namespace

#define LACUNA_TILES(blocks)                                                                                 \
  {                                                                                                          \
    run_tile<1, blocks>, run_tile<2, blocks>, run_tile<3, blocks>, run_tile<4, blocks>, run_tile<5, blocks>, \
        run_tile<6, blocks>, run_tile<7, blocks>, run_tile<8, blocks>, run_tile<9, blocks>,                  \
        run_tile<10, blocks>, run_tile<11, blocks>, run_tile<12, blocks>, run_tile<13, blocks>,              \
        run_tile<14, blocks>                                                                                 \
  }
const PixelTiles kAvx512PixelTiles{"avx512", {LACUNA_TILES(1), LACUNA_TILES(2)}};
#undef LACUNA_TILES

}  // namespace lacuna::kernels
