// 3x3, stride 1 weight gradient from lists of non-zeros, and the tiles they are built from. Included by
// avx512.cpp, inside its unnamed namespace.
//
// Eighteen sums (9 taps x 32 channels of the dense operand) stay in registers over the whole list of a
// channel, so that a mispredicted end of the list is paid once per tile instead of once per pixel. Values are
// packed like their slots: left where the transpose puts them, those of a channel take 17 lines of L1 at 90 %
// zeros instead of 2.

void transpose_tile(const float* src, const std::ptrdiff_t* pixel_offsets, int count, float* dst,
                    std::ptrdiff_t dst_stride) {
  for (int p = 0; p < count; p += kLanes) {
    __m512 a[kLanes];
    const int pixels = count - p < kLanes ? count - p : kLanes;
    if (pixels == kLanes) {
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) a[i] = _mm512_loadu_ps(src + pixel_offsets[p + i]);
    } else {
      for (int i = 0; i < kLanes; ++i)
        a[i] = i < pixels ? _mm512_loadu_ps(src + pixel_offsets[p + i]) : _mm512_setzero_ps();
    }
    transpose16(a);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) _mm512_storeu_ps(dst + i * dst_stride + p, a[i]);
  }
}

void copy_pixels(const float* src, std::ptrdiff_t src_step, std::ptrdiff_t src_block, std::int64_t count,
                 float* dst) {
  for (std::int64_t p = 0; p < count; ++p)
#pragma GCC unroll 2
    for (int k = 0; k < kListVectors; ++k, dst += kLanes)
      _mm512_store_ps(dst, _mm512_loadu_ps(src + p * src_step + k * src_block));
}

template <bool kPairs>
__attribute__((noinline)) void build_lists_as(const ListBuild& b) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::int32_t counts[kLanes] = {};
  std::int32_t pair_counts[kLanes] = {};
  const auto append = [&](__mmask16 k, __m512i slots, std::uint16_t* to) LACUNA_LAMBDA_INLINE {
    const __m256i packed = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(k, slots));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
    return __builtin_popcount(_cvtmask16_u32(k));
  };
  for (std::int64_t y = 0; y < b.row_count; ++y) {
    const float* src = b.src + b.rows[y];
    // Rows are short and far apart: the hardware does not see them coming.
    constexpr std::int64_t kRowsAhead = 4;
    if (y + kRowsAhead < b.row_count)
      for (int i = 0; i < b.width; ++i)
        _mm_prefetch(reinterpret_cast<const char*>(b.src + b.rows[y + kRowsAhead] + i * b.src_step),
                     _MM_HINT_T0);
    __m512 a[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) a[i] = i < b.width ? _mm512_loadu_ps(src + i * b.src_step) : zero;
    transpose16(a);
    const __m512i slots = _mm512_add_epi32(_mm512_set1_epi32(b.row_slots[y]), lanes);
#pragma GCC unroll 16
    for (int c = 0; c < kLanes; ++c) {
      __mmask16 single = _mm512_cmp_ps_mask(a[c], zero, _CMP_NEQ_UQ);
      if constexpr (kPairs) {
        const std::uint32_t k = _cvtmask16_u32(single);
        const std::uint32_t first = k & (k >> 1) & 0x5555U;
        const std::uint32_t both = first | first << 1;
        const std::ptrdiff_t at = c * b.stride + pair_counts[c];
        _mm512_storeu_ps(b.pair_values + c * b.stride + 2 * pair_counts[c],
                         _mm512_maskz_compress_ps(_cvtu32_mask16(both), a[c]));
        pair_counts[c] += append(_cvtu32_mask16(first), slots, b.pair_slots + at);
        single = _cvtu32_mask16(k & ~both);
      }
      const std::ptrdiff_t at = c * b.stride + counts[c];
      _mm512_storeu_ps(b.values + at, _mm512_maskz_compress_ps(single, a[c]));
      counts[c] += append(single, slots, b.slots + at);
    }
  }
  for (int c = 0; c < kLanes; ++c) b.counts[c] = counts[c];
  if (kPairs)
    for (int c = 0; c < kLanes; ++c) b.pair_counts[c] = pair_counts[c];
}

void build_lists(const ListBuild& b) {
  b.pair_values != nullptr ? build_lists_as<true>(b) : build_lists_as<false>(b);
}

template <int Pitch, bool kPairs>
__attribute__((noinline)) void list_kernel_as(const ListTile& t) {
  constexpr int kVectors = 9 * kListVectors;
  float* dw = t.dw;
  for (std::int64_t c = 0; c < t.channels; ++c, dw += kVectors * kLanes) {
    const std::int32_t count = t.counts[c];
    const std::int32_t pairs = kPairs ? t.pair_counts[c] : 0;
    if (count + pairs == 0) continue;
    __m512 acc[kVectors];
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i) acc[i] = _mm512_load_ps(dw + i * kLanes);
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i)
      _mm_prefetch(reinterpret_cast<const char*>(dw + (kVectors + i) * kLanes), _MM_HINT_T0);
    if (pairs > 0) {
      const std::uint16_t* slot = t.pair_slots + c * t.stride;
      const std::uint16_t* end = slot + pairs;
      const float* values = t.pair_values + c * t.stride;
      do {
        const std::size_t s = *slot++;
        const float* y = t.dense + s * (kListVectors * kLanes);
        LACUNA_PIN(y);
        const __m512 left = broadcast16(values);
        const __m512 right = broadcast16(values + 1);
        values += 2;
        // Column `x` of the dense operand is tap x of the left one and tap x - 1 of the right one.
#pragma GCC unroll 3
        for (int r = 0; r < 3; ++r)
#pragma GCC unroll 4
          for (int x = 0; x < 4; ++x)
#pragma GCC unroll 2
            for (int k = 0; k < kListVectors; ++k) {
              __m512 dense = _mm512_load_ps(y + ((r * Pitch + x) * kListVectors + k) * kLanes);
              LACUNA_PIN_VECTOR(dense);
              if (x < 3) {
                __m512& sum = acc[(r * 3 + x) * kListVectors + k];
                sum = _mm512_fmadd_ps(left, dense, sum);
              }
              if (x > 0) {
                __m512& sum = acc[(r * 3 + x - 1) * kListVectors + k];
                sum = _mm512_fmadd_ps(right, dense, sum);
              }
            }
      } while (slot != end);
    }
    if (!kPairs || count > 0) {
      const std::uint16_t* slot = t.slots + c * t.stride;
      const std::uint16_t* end = slot + count;
      const float* values = t.values + c * t.stride;
      // The loop in as few cache lines as possible: 5 % on Zen 4. Loops that are entered once per pixel do
      // not gain, they pay for the padding each time.
      __asm__ volatile(".p2align 6");
      do {
        const std::size_t s = *slot++;
        const float* y = t.dense + s * (kListVectors * kLanes);
        LACUNA_PIN(y);
        const __m512 value = broadcast16(values++);
#pragma GCC unroll 9
        for (int tap = 0; tap < 9; ++tap)
#pragma GCC unroll 2
          for (int k = 0; k < kListVectors; ++k) {
            __m512& sum = acc[tap * kListVectors + k];
            const int offset = ((tap / 3) * Pitch + tap % 3) * kListVectors + k;
            sum = _mm512_fmadd_ps(value, _mm512_load_ps(y + offset * kLanes), sum);
          }
      } while (slot != end);
    }
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i) _mm512_store_ps(dw + i * kLanes, acc[i]);
  }
}

template <int Pitch>
void list_kernel(const ListTile& t) {
  t.pair_values != nullptr ? list_kernel_as<Pitch, true>(t) : list_kernel_as<Pitch, false>(t);
}
