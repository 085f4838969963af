// AVX2 and FMA: a vector of 16 is two registers.
#include <immintrin.h>

#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

struct Simd {
  struct V {
    __m256 lo, hi;
  };
  static V load(const float* p) { return {_mm256_load_ps(p), _mm256_load_ps(p + 8)}; }
  static void store(float* p, V v) {
    _mm256_store_ps(p, v.lo);
    _mm256_store_ps(p + 8, v.hi);
  }
  static V broadcast(const float* p) {
    const __m256 x = _mm256_broadcast_ss(p);
    return {x, x};
  }
  static V fma(V a, V b, V c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static V zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
};

#include "kernels/pruned/few_registers.hpp"

}  // namespace

constinit const PrunedKernels kAvx2Pruned = {"avx2",     pruned_rows,  kept_rows,
                                             pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
