#include <immintrin.h>

#include "sparseprop/sparseprop.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline
#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))

namespace lacuna::sparseprop {
namespace {

struct Simd {
  using V = __m512;
  static constexpr std::int64_t kWidth = 16;
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V broadcast(float v) { return _mm512_set1_ps(v); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V zero() { return _mm512_setzero_ps(); }
  static float sum(V v) { return _mm512_reduce_add_ps(v); }
};

#include "kernels/sparse/avx512_transpose.hpp"
#include "sparseprop/loops.hpp"

constexpr std::int64_t kBatch = 16;

}  // namespace

void to_innermost(const float* nchw, std::int64_t rest, float* innermost) {
  std::int64_t at = 0;
  for (; at + kBatch <= rest; at += kBatch) {
    __m512 a[kBatch];
#pragma GCC unroll 16
    for (int i = 0; i < kBatch; ++i) a[i] = _mm512_loadu_ps(nchw + i * rest + at);
    transpose16(a);
#pragma GCC unroll 16
    for (int i = 0; i < kBatch; ++i) _mm512_storeu_ps(innermost + (at + i) * kBatch, a[i]);
  }
  for (; at < rest; ++at)
    for (int i = 0; i < kBatch; ++i) innermost[at * kBatch + i] = nchw[i * rest + at];
}

void from_innermost(const float* innermost, std::int64_t rest, float* nchw) {
  std::int64_t at = 0;
  for (; at + kBatch <= rest; at += kBatch) {
    __m512 a[kBatch];
#pragma GCC unroll 16
    for (int i = 0; i < kBatch; ++i) a[i] = _mm512_loadu_ps(innermost + (at + i) * kBatch);
    transpose16(a);
#pragma GCC unroll 16
    for (int i = 0; i < kBatch; ++i) _mm512_storeu_ps(nchw + i * rest + at, a[i]);
  }
  for (; at < rest; ++at)
    for (int i = 0; i < kBatch; ++i) nchw[i * rest + at] = innermost[at * kBatch + i];
}

constinit const Loops kAvx512 = {"avx512", forward, backward};

}  // namespace lacuna::sparseprop
