// Plain C++ for any CPU; the compiler vectorises it as far as it can.
#include "kernels/sparse/microkernels.hpp"

#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))

namespace lacuna::kernels {
namespace {

#include "kernels/sparse/portable_vector.hpp"

struct Simd : PortableVector {
  static constexpr bool kPipelined = false;
  static constexpr int kPeakSums = 1;
  static constexpr int kTwoChainsBelow = 0;
  static V add(const V& a, const V& b) {
    V v;
    for (int i = 0; i < kLanes; ++i) v.lane[i] = a.lane[i] + b.lane[i];
    return v;
  }
  static std::uint32_t nonzero(const V& v) {
    std::uint32_t mask = 0;
    for (int i = 0; i < kLanes; ++i) mask |= static_cast<std::uint32_t>(v.lane[i] != 0.0F) << i;
    return mask;
  }
};

#include "kernels/sparse/pixel_kernel.hpp"
#include "kernels/sparse/transpose_portable.hpp"

}  // namespace

constinit const MicroKernels kPortableKernels = {
    .isa = "portable",
    .pixel_vectors = 2,
    .pixel = {LACUNA_NO_PIXEL_ROW, LACUNA_PIXEL_ROW(1), LACUNA_PIXEL_ROW(2), LACUNA_NO_PIXEL_ROW,
              LACUNA_NO_PIXEL_ROW, LACUNA_NO_PIXEL_ROW, LACUNA_NO_PIXEL_ROW, LACUNA_NO_PIXEL_ROW,
              LACUNA_NO_PIXEL_ROW},
    .transpose = transpose_tile,
    .gather = gather_tile,
    .peak = peak_loop,
};

}  // namespace lacuna::kernels
