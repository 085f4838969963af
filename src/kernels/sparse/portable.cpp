// For any CPU.
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 4;  // SSE's
#include "kernels/sparse/simd.hpp"
// (order matters)
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
