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

void build_lists(const ListBuild& b) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::int32_t counts[kLanes] = {};
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
      const __mmask16 k = _mm512_cmp_ps_mask(a[c], zero, _CMP_NEQ_UQ);
      const std::ptrdiff_t at = c * b.stride + counts[c];
      _mm512_storeu_ps(b.values + at, _mm512_maskz_compress_ps(k, a[c]));
      const __m256i packed = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(k, slots));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(b.slots + at), packed);
      counts[c] += __builtin_popcount(_cvtmask16_u32(k));
    }
  }
  for (int c = 0; c < kLanes; ++c) b.counts[c] = counts[c];
}

template <int Pitch>
void list_kernel(const ListTile& t) {
  constexpr int kVectors = 9 * kListVectors;
  float* dw = t.dw;
  for (std::int64_t c = 0; c < t.channels; ++c, dw += kVectors * kLanes) {
    const std::int32_t count = t.counts[c];
    if (count == 0) continue;
    const std::uint16_t* slot = t.slots + c * t.stride;
    const std::uint16_t* end = slot + count;
    const float* values = t.values + c * t.stride;
    __m512 acc[kVectors];
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i) acc[i] = _mm512_load_ps(dw + i * kLanes);
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i)
      _mm_prefetch(reinterpret_cast<const char*>(dw + (kVectors + i) * kLanes), _MM_HINT_T0);
    // The loop in as few cache lines as possible: 5 % on Zen 4. Loops that are entered once per pixel do not
    // gain, they pay for the padding each time.
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
#pragma GCC unroll 18
    for (int i = 0; i < kVectors; ++i) _mm512_store_ps(dw + i * kLanes, acc[i]);
  }
}
