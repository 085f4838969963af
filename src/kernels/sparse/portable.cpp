// For any CPU.
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 4;  // SSE's
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/sparse/pixel_kernel.hpp"

void transpose_tile(const float* src, const std::ptrdiff_t* pixel_offsets, int count, float* dst,
                    std::ptrdiff_t dst_stride) {
  const int padded = (count + kLanes - 1) / kLanes * kLanes;
  for (int p = 0; p < padded; ++p)
    for (int c = 0; c < kLanes; ++c) dst[c * dst_stride + p] = p < count ? src[pixel_offsets[p] + c] : 0.0F;
}

}  // namespace

constinit const MicroKernels kPortableKernels = {
    .isa = "portable",
    .pixel_vectors = 2,
    .pixel = {{}, LACUNA_PIXEL_ROW(1), LACUNA_PIXEL_ROW(2)},
    .transpose = transpose_tile,
    .gather = gather_tile,
    .peak = peak_loop,
};

}  // namespace lacuna::kernels
