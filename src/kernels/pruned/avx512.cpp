// AVX-512: the sums of a whole tile stay in registers.
#include <immintrin.h>

#include "kernels/pruned/kernels.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline
#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))
// Keeps a pointer in one register, so that every multiply-add uses base + constant.
#define LACUNA_PIN(pointer) __asm__("" : "+r"(pointer))

namespace lacuna::kernels {
namespace {

#include "kernels/sparse/avx512_transpose.hpp"

template <bool Write>
LACUNA_INLINE void fetch_ahead(LinesAhead& ahead) {
  if (ahead.lines <= 0) return;
  for (std::int64_t i = 0; i < ahead.per_row; i += 4) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const float* line = ahead.base + ahead.offsets[ahead.next + j];
      if constexpr (Write)
        __asm__ volatile("prefetchw %0" : : "m"(*line));
      else
        _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T1);
    }
    if ((ahead.next += 4) < ahead.count) continue;
    ahead.next = 0;
    ahead.base += ahead.block_floats;
    if ((ahead.lines -= ahead.count) <= 0) return;
  }
}

template <int Rows, int Cols, int Pitch>
void rows_of(const PrunedRows& job) {
  constexpr int kPixels = Rows * Cols;
  const WeightEntry* e = job.entries;
  const auto* inputs = reinterpret_cast<const char*>(job.inputs);
  for (const WeightRow* row = job.rows; row != job.rows + job.row_count; ++row) {
    float* sums = job.sums + static_cast<std::size_t>(row->channel) * (kPixels * kLanes);
    fetch_ahead<false>(*job.read);
    fetch_ahead<true>(*job.write);
    __m512 acc[kPixels];
    if (job.init != nullptr) {
      const __m512 init = _mm512_set1_ps(job.init[row->channel]);
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) acc[i] = init;
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) acc[i] = _mm512_load_ps(sums + i * kLanes);
    }
    for (const WeightEntry* end = e + row->count; e != end; ++e) {
      const float* x = reinterpret_cast<const float*>(inputs + e->offset);
      LACUNA_PIN(x);
      const __m512 w = _mm512_set1_ps(e->value);
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i)
        acc[i] = _mm512_fmadd_ps(w, _mm512_load_ps(x + (i / Cols * Pitch + i % Cols) * kLanes), acc[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) _mm512_store_ps(sums + i * kLanes, acc[i]);
  }
}

// The gradients of a tile stay in registers; the sums of sixteen weights are reduced together.
template <int Rows, int Cols, int Pitch>
void kept_of(const KeptRows& job) {
  constexpr int kPixels = Rows * Cols;
  constexpr int kChains = kPixels < 4 ? kPixels : 4;
  alignas(64) float partial[kLanes * kLanes];
  const WeightEntry* e = job.entries;
  const auto* inputs = reinterpret_cast<const char*>(job.inputs);
  float* out = job.out;
  int waiting = 0;
  for (const WeightRow* row = job.rows; row != job.rows + job.row_count; ++row) {
    fetch_ahead<false>(*job.inputs_ahead);
    const float* gradients = job.gradients + static_cast<std::size_t>(row->channel) * (kPixels * kLanes);
    __m512 g[kPixels];
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) g[i] = _mm512_load_ps(gradients + i * kLanes);
    for (const WeightEntry* end = e + row->count; e != end; ++e) {
      const float* x = reinterpret_cast<const float*>(inputs + e->offset);
      LACUNA_PIN(x);
      __m512 sum[kChains];
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) {
        const __m512 v = _mm512_load_ps(x + (i / Cols * Pitch + i % Cols) * kLanes);
        sum[i % kChains] = i < kChains ? _mm512_mul_ps(g[i], v) : _mm512_fmadd_ps(g[i], v, sum[i % kChains]);
      }
#pragma GCC unroll 4
      for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
      _mm512_store_ps(partial + waiting * kLanes, sum[0]);
      if (++waiting == kLanes) {
        _mm512_storeu_ps(out, _mm512_add_ps(_mm512_loadu_ps(out), lane_sums(partial)));
        out += kLanes;
        waiting = 0;
      }
    }
  }
  for (int i = 0; i < waiting; ++i) out[i] += _mm512_reduce_add_ps(_mm512_load_ps(partial + i * kLanes));
}

alignas(64) constexpr float kZeros[kLanes] = {};

void pack_lanes(const PackLanes& job) {
  for (std::int64_t i = 0; i < job.count; ++i) {
    const std::int64_t* offsets = job.offsets + i * kLanes;
    const float* rows[kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane)
      rows[lane] = offsets[lane] < 0 ? kZeros : job.from + offsets[lane];
    float* to = job.to + job.slots[i] * kLanes;
    transpose16_from(
        rows, [=](int c, __m512 v) LACUNA_LAMBDA_INLINE { _mm512_store_ps(to + c * job.channel_floats, v); });
  }
}

void unpack_lanes(const UnpackLanes& job) {
  const __m512 zero = _mm512_setzero_ps();
  const auto put = [=](std::int64_t offset, __m512 v) LACUNA_LAMBDA_INLINE {
    // NaN stays NaN.
    if (job.relu) v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ), zero);
    if (offset < 0) return;
    if (job.around_caches)
      _mm512_stream_ps(job.to + offset, v);
    else
      _mm512_storeu_ps(job.to + offset, v);  // channels-last tensors may begin anywhere
  };
  if (job.from == nullptr) {
    const __m512 value = _mm512_loadu_ps(job.value);
    for (std::int64_t i = job.begin * kLanes; i < job.end * kLanes; ++i) put(job.offsets[i], value);
    return;
  }
  for (std::int64_t p = job.begin; p < job.end; ++p) {
    const std::int64_t* offsets = job.offsets + p * kLanes;
    const float* rows[kLanes];
#pragma GCC unroll 16
    for (int c = 0; c < kLanes; ++c) rows[c] = job.from + (c * job.pixels + p) * kLanes;
    transpose16_from(rows, [=](int lane, __m512 v) LACUNA_LAMBDA_INLINE { put(offsets[lane], v); });
  }
}

std::int64_t nonzeros(const float* from, std::int64_t count, std::uint32_t* places) {
  __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto valid = static_cast<__mmask16>(count - i >= kLanes ? 0xffff : (1 << (count - i)) - 1);
    const __mmask16 mask = _mm512_mask_cmp_ps_mask(valid, _mm512_maskz_loadu_ps(valid, from + i),
                                                   _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(mask, place));
    found += __builtin_popcount(mask);
    place = _mm512_add_epi32(place, _mm512_set1_epi32(kLanes));
  }
  return found;
}

using RowsKernel = void (*)(const PrunedRows&);
using KeptKernel = void (*)(const KeptRows&);

// NOLINTBEGIN(bugprone-macro-parentheses): templates take none.
#define LACUNA_TILES(OF, PITCH)                                               \
  {                                                                           \
    {OF<1, 1, PITCH>, OF<1, 2, PITCH>, OF<1, 3, PITCH>, OF<1, 4, PITCH>},     \
        {OF<2, 1, PITCH>, OF<2, 2, PITCH>, OF<2, 3, PITCH>, OF<2, 4, PITCH>}, \
        {OF<3, 1, PITCH>, OF<3, 2, PITCH>, OF<3, 3, PITCH>, OF<3, 4, PITCH>}, \
        {OF<4, 1, PITCH>, OF<4, 2, PITCH>, OF<4, 3, PITCH>, OF<4, 4, PITCH>}, \
        {OF<5, 1, PITCH>, OF<5, 2, PITCH>, OF<5, 3, PITCH>, nullptr},         \
        {OF<6, 1, PITCH>, OF<6, 2, PITCH>, nullptr, nullptr},                 \
        {OF<7, 1, PITCH>, OF<7, 2, PITCH>, nullptr, nullptr},                 \
  }
#define LACUNA_FLAT(OF)                                                                                      \
  {                                                                                                          \
    nullptr, nullptr, nullptr, OF<4, 1, 1>, OF<5, 1, 1>, OF<6, 1, 1>, OF<7, 1, 1>, OF<8, 1, 1>, OF<9, 1, 1>, \
        OF<10, 1, 1>                                                                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)

constexpr RowsKernel kRows6[7][4] = LACUNA_TILES(rows_of, 6);
constexpr RowsKernel kRows8[7][4] = LACUNA_TILES(rows_of, 8);
constexpr RowsKernel kRowsFlat[10] = LACUNA_FLAT(rows_of);
constexpr KeptKernel kKept6[7][4] = LACUNA_TILES(kept_of, 6);
constexpr KeptKernel kKept8[7][4] = LACUNA_TILES(kept_of, 8);
constexpr KeptKernel kKeptFlat[10] = LACUNA_FLAT(kept_of);

void pruned_rows(const PrunedRows& job) {
  const TileSize& t = job.tile;
  (t.pitch == 1 ? kRowsFlat[t.rows - 1] : (t.pitch == 6 ? kRows6 : kRows8)[t.rows - 1][t.cols - 1])(job);
}

void kept_rows(const KeptRows& job) {
  const TileSize& t = job.tile;
  (t.pitch == 1 ? kKeptFlat[t.rows - 1] : (t.pitch == 6 ? kKept6 : kKept8)[t.rows - 1][t.cols - 1])(job);
}

}  // namespace

constinit const PrunedKernels kAvx512Pruned = {"avx512",   pruned_rows,  kept_rows,
                                               pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
