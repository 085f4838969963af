// AMX: tiles of 16 rows of 64 bytes. Compiled for AVX-512 with bfloat16 and AMX.
#include <immintrin.h>

#include "kernels/bfloat16/tile_kernels.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline

namespace lacuna::kernels {
namespace {

#include "kernels/sparse/avx512_transpose.hpp"

// Palette 1: eight tiles.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// In memory: GCC 12 takes the first eight bytes for all that is read, and would not store the others.
constexpr TileConfig kConfig;

void begin() { _tile_loadconfig(&kConfig); }
void end() { _tile_release(); }

LACUNA_INLINE __mmask16 first(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1U << count) - 1);
}
LACUNA_INLINE __m512i both(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
// {low[i], high[i]} of bfloat16 in each 32 bits.
LACUNA_INLINE __m512i interleaved(__m512 low, __m512 high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, both(low, high));
}

void to_lines(const float* src, std::ptrdiff_t pixel_step, std::ptrdiff_t block_step, int blocks,
              std::int64_t count, Bfloat16* lines) {
  const __m512 zero = _mm512_setzero_ps();
  for (std::int64_t p = 0; p < count; ++p, src += pixel_step) {
    const __m512 high = blocks > 1 ? _mm512_loadu_ps(src + block_step) : zero;
    _mm512_store_si512(lines + p * kTileDepth, both(_mm512_loadu_ps(src), high));
  }
}

void to_pairs(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, bool odd, Bfloat16* pairs) {
  std::int64_t p = 0;
  if (odd) {
    _mm512_store_si512(pairs, interleaved(_mm512_setzero_ps(), _mm512_loadu_ps(src)));
    src += pixel_step;
    pairs += 32;
    --count;
  }
  for (; p + 2 <= count; p += 2, src += 2 * pixel_step)
    _mm512_store_si512(pairs + p * 16, interleaved(_mm512_loadu_ps(src), _mm512_loadu_ps(src + pixel_step)));
  if (p < count) _mm512_store_si512(pairs + p * 16, interleaved(_mm512_loadu_ps(src), _mm512_setzero_ps()));
}

// 32 pixels of 16 channels at a time: their pairs, transposed.
void to_planes(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, Bfloat16* planes,
               std::ptrdiff_t plane) {
  for (std::int64_t p = 0; p < count; p += 32, src += 32 * pixel_step, planes += 32) {
    const std::int64_t here = count - p < 32 ? count - p : 32;
    __m512 pairs[16];
    for (int i = 0; i < 16; ++i) {
      const float* at = src + 2 * i * pixel_step;
      const __m512 low = 2 * i < here ? _mm512_loadu_ps(at) : _mm512_setzero_ps();
      const __m512 high = 2 * i + 1 < here ? _mm512_loadu_ps(at + pixel_step) : _mm512_setzero_ps();
      pairs[i] = _mm512_castsi512_ps(interleaved(low, high));
    }
    transpose16(pairs);
    const auto mask = static_cast<__mmask32>(here == 32 ? 0xffffffffU : (1U << here) - 1);
    for (int c = 0; c < 16; ++c)
      _mm512_mask_storeu_epi16(planes + c * plane, mask, _mm512_castps_si512(pairs[c]));
  }
}

// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 columns: with four sums each loaded tile is used twice, and
// loads take as long as half of the products.
template <int Rows, int Columns>
void multiply_tiles(const LineProduct& r) {
  _tile_zero(0);
  if (Columns > 1) _tile_zero(1);
  if (Rows > 1) _tile_zero(2);
  if (Rows > 1 && Columns > 1) _tile_zero(3);
  const Bfloat16* weights = r.weights;
  for (std::int64_t i = 0; i < r.steps; ++i, weights += 2 * kTileElements) {
    const Bfloat16* lines = r.lines + r.offsets[i];
    _tile_loadd(6, weights, 64);
    _tile_loadd(4, lines, 64);
    _tile_dpbf16ps(0, 4, 6);
    if (Columns > 1) {
      _tile_loadd(7, weights + kTileElements, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (Rows > 1) {
      _tile_loadd(5, lines + kTileElements, 64);
      _tile_dpbf16ps(2, 5, 6);
      if (Columns > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, r.sums, 64);
  if (Columns > 1) _tile_stored(1, r.sums + 256, 64);
  if (Rows > 1) _tile_stored(2, r.sums + 512, 64);
  if (Rows > 1 && Columns > 1) _tile_stored(3, r.sums + 768, 64);
}

void multiply(const LineProduct& r) {
  if (r.row_tiles > 1)
    r.column_tiles > 1 ? multiply_tiles<2, 2>(r) : multiply_tiles<2, 1>(r);
  else
    r.column_tiles > 1 ? multiply_tiles<1, 2>(r) : multiply_tiles<1, 1>(r);
}

void accumulate(const PlaneProduct& r) {
  if (r.add) {
    _tile_loadd(0, r.sums, 64);
    _tile_loadd(1, r.sums + 256, 64);
    _tile_loadd(2, r.sums + 512, 64);
    _tile_loadd(3, r.sums + 768, 64);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::ptrdiff_t bytes = r.plane * 2;
  for (std::int64_t i = 0; i < r.steps; ++i) {
    const Bfloat16* planes = r.planes + i * kTileDepth;
    _tile_loadd(6, r.pairs[0] + i * kTileElements, 64);
    _tile_loadd(4, planes, bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, r.pairs[1] + i * kTileElements, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, planes + 16 * r.plane, bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, r.sums, 64);
  _tile_stored(1, r.sums + 256, 64);
  _tile_stored(2, r.sums + 512, 64);
  _tile_stored(3, r.sums + 768, 64);
}

void store_rows(const float* sums, const std::int64_t* at, float* dst, const float* bias, bool relu) {
  const __m512 added = _mm512_loadu_ps(bias);
  for (int r = 0; r < 16; ++r) {
    if (at[r] < 0) continue;
    __m512 value = _mm512_add_ps(_mm512_load_ps(sums + r * 16), added);
    if (relu) value = _mm512_max_ps(_mm512_setzero_ps(), value);  // the second operand if one is NaN
    _mm512_storeu_ps(dst + at[r], value);
  }
}

void pack_forward(const WeightTiles& w) {
  // scratch[input * taps + tap][16 outputs]
  const std::int64_t count = w.inputs * w.taps;
  for (std::int64_t j = 0; j < kTileDepth * w.taps; j += 16) {
    __m512 rows[16];
    for (int o = 0; o < 16; ++o)
      rows[o] = o < w.outputs && j < count
                    ? _mm512_maskz_loadu_ps(first(count - j), w.weights + o * w.output_step + j)
                    : _mm512_setzero_ps();
    transpose16(rows);
    for (int i = 0; i < 16; ++i) _mm512_storeu_ps(w.scratch + (j + i) * 16, rows[i]);
  }
  for (std::int64_t t = 0; t < w.taps; ++t)
    for (std::int64_t pair = 0; pair < 16 && w.tiles[t] != nullptr; ++pair) {
      const float* low = w.scratch + (2 * pair * w.taps + t) * 16;
      _mm512_storeu_si512(w.tiles[t] + pair * 32,
                          interleaved(_mm512_loadu_ps(low), _mm512_loadu_ps(low + w.taps * 16)));
    }
}

void pack_backward(const WeightTiles& w) {
  const std::int64_t count = w.inputs * w.taps;
  const __m512i index =
      _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                         _mm512_set1_epi32(static_cast<int>(w.taps)));
  for (std::int64_t pair = 0; pair < 16; ++pair) {
    const float* row = w.weights + 2 * pair * w.output_step;
    for (std::int64_t j = 0; j < 16 * w.taps; j += 16) {
      const __mmask16 mask = j < count ? first(count - j) : static_cast<__mmask16>(0);
      const __m512 low = 2 * pair < w.outputs ? _mm512_maskz_loadu_ps(mask, row + j) : _mm512_setzero_ps();
      const __m512 high = 2 * pair + 1 < w.outputs ? _mm512_maskz_loadu_ps(mask, row + w.output_step + j)
                                                   : _mm512_setzero_ps();
      _mm512_storeu_si512(w.scratch + j, interleaved(low, high));
    }
    for (std::int64_t t = 0; t < w.taps; ++t)
      if (w.tiles[t] != nullptr)
        _mm512_storeu_si512(w.tiles[t] + pair * 32, _mm512_i32gather_epi32(index, w.scratch + t, 4));
  }
}

void unpack(const GradientTiles& g) {
  const std::int64_t count = g.inputs * g.taps;
  for (std::int64_t j = 0; j < count; j += 16) {
    alignas(64) std::int32_t places[16];
    for (int i = 0; i < 16; ++i)
      places[i] = j + i < count ? static_cast<std::int32_t>((j + i) % g.taps * g.tap + (j + i) / g.taps) : 0;
    const __m512i index = _mm512_load_si512(places);
    for (int o = 0; o < g.outputs; ++o)
      _mm512_mask_storeu_ps(g.weights + o * g.output_step + j, first(count - j),
                            _mm512_i32gather_ps(index, g.sums + o * 16, 4));
  }
}

}  // namespace

const TileKernels kAmxTiles = {"amx",    begin,      end,        to_lines,     to_planes,     to_pairs,
                               multiply, accumulate, store_rows, pack_forward, pack_backward, unpack};

}  // namespace lacuna::kernels
