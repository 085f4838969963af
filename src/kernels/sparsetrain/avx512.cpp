// The row kernels, compiled for AVX-512.
#include <immintrin.h>
#include <utility>

#include "kernels/sparsetrain/row_kernels.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline
// Keeps a pointer in one register, so that every multiply-add uses base + constant: an indexed address splits
// the fused operation in two on Intel's cores.
#define LACUNA_PIN(pointer) __asm__("" : "+r"(pointer))

namespace lacuna::kernels::sparsetrain {
namespace {

using V = __m512;
constexpr int kLanes = 16;

// "Identify zeros in a dense data representation" [SparseTrain]: one vector compare, one bit per value. NaN
// counts as non-zero, -0.0 as zero.
LACUNA_INLINE std::uint32_t nonzero(const float* values) {
  return _cvtmask16_u32(_mm512_cmp_ps_mask(_mm512_load_ps(values), _mm512_setzero_ps(), _CMP_NEQ_UQ));
}

// Lowest set bit of the mask, which it clears.
LACUNA_INLINE std::size_t take_bit(std::uint32_t& mask) {
  const auto bit = static_cast<std::size_t>(__builtin_ctz(mask));
  mask &= mask - 1;
  return bit;
}

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};
LACUNA_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
LACUNA_INLINE std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
LACUNA_INLINE std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// `whole` with at least nothing in it, so that what lies before and after covers the row once.
LACUNA_INLINE Interval not_negative(Interval whole) { return {whole.begin, most(whole.begin, whole.end)}; }

// Steps of a gather in which every tap meets a column of the other row. Step m has the checked columns
// m * stride - padding + j, j < stride, and the other columns m, m - 1, ...
template <int KW, int Stride>
LACUNA_INLINE Interval gather_steps(std::int64_t checked, std::int64_t other, std::int64_t padding) {
  constexpr int kColumns = (KW + Stride - 1) / Stride;
  const std::int64_t last = checked - Stride + padding;  // m * stride <= last
  return not_negative(
      {most(ceil_of(padding, Stride), kColumns - 1), last < 0 ? 0 : least(other, last / Stride + 1)});
}
template <int KW, int Stride>
LACUNA_INLINE Interval scatter_steps(std::int64_t checked, std::int64_t other, std::int64_t padding) {
  const std::int64_t last = other - KW + padding;
  return not_negative({ceil_of(padding, Stride), last < 0 ? 0 : least(checked, last / Stride + 1)});
}

// The taps of a checked column at the edge of a row: `count` of them from tap `first` on, with the other
// column of the first one.
struct EdgeTaps {
  std::int64_t first;
  std::int64_t count;
  std::int64_t column;
};
template <int KW, int Stride>
LACUNA_INLINE EdgeTaps gather_taps(std::int64_t u, std::int64_t other, std::int64_t padding) {
  const std::int64_t j = (u + padding) % Stride;
  const std::int64_t m = (u + padding) / Stride;
  const std::int64_t t = most(0, m - other + 1);
  return {j + t * Stride, least(m, (KW - 1 - j) / Stride) - t + 1, m - t};
}
template <int KW, int Stride>
LACUNA_INLINE EdgeTaps scatter_taps(std::int64_t u, std::int64_t other, std::int64_t padding) {
  const std::int64_t start = u * Stride - padding;
  const std::int64_t first = most(0, -start);
  return {first, least(KW, other - start) - first, start + first};
}

#include "kernels/sparsetrain/avx512_sweep.hpp"
// (order matters: the next one uses what the first defines)
#include "kernels/sparsetrain/avx512_weight.hpp"

}  // namespace

constinit const RowKernels kAvx512RowKernels = {
    .sweep = {{pixel_sweep<1>, pixel_sweep<2>, pixel_sweep<4>, pixel_sweep<8>},
              {gather_sweep<3, 1, 1>, gather_sweep<3, 1, 2>, gather_sweep<3, 1, 4>, gather_sweep<3, 1, 8>},
              {gather_sweep<3, 2, 1>, gather_sweep<3, 2, 2>, gather_sweep<3, 2, 4>, gather_sweep<3, 2, 8>},
              {scatter_sweep<3, 2, 1>, scatter_sweep<3, 2, 2>, scatter_sweep<3, 2, 4>,
               scatter_sweep<3, 2, 8>},
              {gather_sweep<5, 1, 1>, gather_sweep<5, 1, 2>, gather_sweep<5, 1, 4>, nullptr}},
    .weight =
        {{pixel_weight<1>, pixel_weight<2>, pixel_weight<4>, pixel_weight<8>},
         {gather_weight<3, 1, 1>, gather_weight<3, 1, 2>, gather_weight<3, 1, 4>, gather_weight<3, 1, 8>},
         {gather_weight<3, 2, 1>, gather_weight<3, 2, 2>, gather_weight<3, 2, 4>, gather_weight<3, 2, 8>},
         {scatter_weight<3, 2, 1>, scatter_weight<3, 2, 2>, scatter_weight<3, 2, 4>, scatter_weight<3, 2, 8>},
         {gather_weight<5, 1, 1>, gather_weight<5, 1, 2>, gather_weight<5, 1, 4>, nullptr}},
};

}  // namespace lacuna::kernels::sparsetrain
