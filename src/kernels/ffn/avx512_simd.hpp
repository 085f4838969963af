// Vectors of AVX-512 for loops written for any instruction set. Included inside the unnamed namespaces of
// files that are compiled for it and define LACUNA_INLINE.

struct Simd {
  using V = __m512;
  LACUNA_INLINE static V load(const float* p) { return _mm512_loadu_ps(p); }
  LACUNA_INLINE static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  LACUNA_INLINE static V broadcast(const float* p) { return _mm512_set1_ps(*p); }
  LACUNA_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  LACUNA_INLINE static V add(V a, V b) { return _mm512_add_ps(a, b); }
  LACUNA_INLINE static V zero() { return _mm512_setzero_ps(); }
};

LACUNA_INLINE void sum4(__m512 a, __m512 b, __m512 c, __m512 d, float* sums) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all =
      _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  _mm_storeu_ps(sums, _mm_add_ps(_mm_loadu_ps(sums), quarter));
}
