#include <immintrin.h>

#include "sparseprop/sparseprop.hpp"

namespace lacuna::sparseprop {
namespace {

struct Simd {
  using V = __m256;
  static constexpr std::int64_t kWidth = 8;
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V broadcast(float v) { return _mm256_set1_ps(v); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V zero() { return _mm256_setzero_ps(); }
  static float sum(V v) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
};

#include "sparseprop/loops.hpp"

}  // namespace

constinit const Loops kAvx2 = {"avx2", forward, backward};

}  // namespace lacuna::sparseprop
