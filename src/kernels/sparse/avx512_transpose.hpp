// Transposes of 16 x 16 floats. Included by the files compiled for AVX-512, inside their unnamed namespaces.

LACUNA_INLINE void transpose16(__m512 (&a)[16]) {
  __m512 t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
  }
  __m512 u[16];  // u[4g + j]: column j of the four rows of group g, in each 128-bit lane
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m512d lo0 = _mm512_castps_pd(t[4 * g]);
    const __m512d hi0 = _mm512_castps_pd(t[4 * g + 1]);
    const __m512d lo1 = _mm512_castps_pd(t[4 * g + 2]);
    const __m512d hi1 = _mm512_castps_pd(t[4 * g + 3]);
    u[4 * g] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo0, lo1));
    u[4 * g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo0, lo1));
    u[4 * g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(hi0, hi1));
    u[4 * g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(hi0, hi1));
  }
  // A 4x4 transpose of 128-bit lanes for each j.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 even01 = _mm512_shuffle_f32x4(u[j], u[4 + j], 0x88);
    const __m512 odd01 = _mm512_shuffle_f32x4(u[j], u[4 + j], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(u[8 + j], u[12 + j], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(u[8 + j], u[12 + j], 0xdd);
    a[j] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    a[8 + j] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    a[4 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    a[12 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

// The transpose of 16 rows in memory: store(column, its 16 values). Rows are read in quarters, which do the
// half of the work that would be shuffles: those have one port, inserts from memory two. 40 cycles instead
// of 64.
template <class Store>
LACUNA_INLINE void transpose16_from(const float* const (&rows)[16], const Store& store) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    __m512 r[4];  // columns 4q .. 4q + 3 of rows i, i + 4, i + 8, i + 12
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(rows[i] + 4 * q));
      v = _mm512_insertf32x4(v, _mm_loadu_ps(rows[i + 4] + 4 * q), 1);
      v = _mm512_insertf32x4(v, _mm_loadu_ps(rows[i + 8] + 4 * q), 2);
      r[i] = _mm512_insertf32x4(v, _mm_loadu_ps(rows[i + 12] + 4 * q), 3);
    }
    const __m512d lo01 = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
    const __m512d hi01 = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
    const __m512d lo23 = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
    const __m512d hi23 = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
    store(4 * q, _mm512_castpd_ps(_mm512_unpacklo_pd(lo01, lo23)));
    store(4 * q + 1, _mm512_castpd_ps(_mm512_unpackhi_pd(lo01, lo23)));
    store(4 * q + 2, _mm512_castpd_ps(_mm512_unpacklo_pd(hi01, hi23)));
    store(4 * q + 3, _mm512_castpd_ps(_mm512_unpackhi_pd(hi01, hi23)));
  }
}

// The sums of the 16 lanes of each of 16 vectors.
LACUNA_INLINE __m512 lane_sums(const float* vectors) {
  __m512 a[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_load_ps(vectors + i * 16);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)  // two vectors' sums of lanes l and l + 2, side by side
    a[i] =
        _mm512_add_ps(_mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // four vectors' sums of 128 bits
    const __m512d x = _mm512_castps_pd(a[2 * i]);
    const __m512d y = _mm512_castps_pd(a[2 * i + 1]);
    a[i] =
        _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
    a[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0x88),
                         _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0xdd));
  return _mm512_add_ps(_mm512_shuffle_f32x4(a[0], a[1], 0x88), _mm512_shuffle_f32x4(a[0], a[1], 0xdd));
}
