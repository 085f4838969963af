// AVX-512 (F, and BW/DQ/VL for the compiler's use: every CPU since Skylake-X has them).
#include <immintrin.h>

#include "kernels/sparse/microkernels.hpp"

// Keeps a vector in a register: the compiler would load it for each of two multiply-adds.
#define LACUNA_PIN_VECTOR(vector) __asm__("" : "+v"(vector))
#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))

namespace lacuna::kernels {
namespace {

// Through a general register: on Zen 4 the load pipes are what limits multiply-adds with a memory operand,
// and a broadcast from memory takes as much of them as a whole vector. 9 multiply-adds and a broadcast take
// 10.42 cycles this way, 10.86 with a broadcast from memory.
__attribute__((always_inline)) inline __m512 broadcast16(const float* p) {
  int bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  __asm__("" : "+r"(bits));
  return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
}

struct Simd {
  using V = __m512;
  static constexpr bool kPipelined = true;
  static constexpr int kPeakSums = 16;
  static constexpr int kTwoChainsBelow = 2;
  __attribute__((always_inline)) static V load(const float* p) { return _mm512_loadu_ps(p); }
  __attribute__((always_inline)) static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  __attribute__((always_inline)) static V broadcast(const float* p) { return broadcast16(p); }
  __attribute__((always_inline)) static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  __attribute__((always_inline)) static V add(V a, V b) { return _mm512_add_ps(a, b); }
  __attribute__((always_inline)) static V zero() { return _mm512_setzero_ps(); }
  // NaN counts as non-zero, -0.0 as zero.
  __attribute__((always_inline)) static std::uint32_t nonzero(V v) {
    return _cvtmask16_u32(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ));
  }
};

#include "kernels/sparse/pixel_kernel.hpp"
// (order matters: the others use the macros of the first, and the transpose)
#include "kernels/sparse/avx512_transpose.hpp"
// and then
#include "kernels/sparse/avx512_list.hpp"
#include "kernels/sparse/avx512_packed.hpp"
#include "kernels/sparse/avx512_window.hpp"
// and at last
#include "kernels/sparse/avx512_window_pairs.hpp"

}  // namespace

constinit const MicroKernels kAvx512Kernels = {
    .isa = "avx512",
    .pixel_vectors = 8,
    .pixel = {{},
              LACUNA_PIXEL_ROW(1),
              LACUNA_PIXEL_ROW(2),
              LACUNA_PIXEL_ROW(3),
              LACUNA_PIXEL_ROW(4),
              LACUNA_PIXEL_ROW(5),
              LACUNA_PIXEL_ROW(6),
              LACUNA_PIXEL_ROW(7),
              LACUNA_PIXEL_ROW(8)},
    .transpose = transpose_tile,
    .gather = gather_tile,
    .peak = peak_loop,
    .pack_row = pack_row,
    .packed = {nullptr, packed_kernel<1>, packed_kernel<2>, packed_kernel<3>, packed_kernel<4>,
               packed_kernel<5>, packed_kernel<6>, packed_kernel<7>, packed_kernel<8>},
    .window = window_kernel,
    .window_pairs = window_pairs,
    .pairs_pay = pairs_pay,
    .list_pitch16 = list_kernel<16>,
    .list_pitch9 = list_kernel<9>,
    .build_lists = build_lists,
    .copy_pixels = copy_pixels,
};

}  // namespace lacuna::kernels
