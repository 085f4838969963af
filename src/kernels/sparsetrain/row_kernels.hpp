// The innermost loops of SparseTrain's own algorithm: one row of the checked tensor at a time. Compiled for
// AVX-512 alone.
//
// The authors generate code for each layer at run time; here it is templates over the width of the kernel,
// the stride and the number of output vectors. A row of the checked tensor has columns u, the other tensor
// columns v. Tap s of the kernel relates them by v * stride = u + padding - s (gather) or v = u * stride -
// padding + s (scatter).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::kernels::sparsetrain {

// Variants of a row kernel. kPixel: one tap, any stride.
enum RowKind : std::uint8_t { kPixel, kGather3, kGather3Stride2, kScatter3Stride2, kGather5, kRowKinds };

// Output vectors of a kernel: 1, 2, 4 or 8, by their logarithm. kw * vectors accumulators stay in registers:
// 24 for 3x3, 20 for 5x5, and up to 8 for 1x1.
inline constexpr int kVectorChoices = 4;

// forward and input_grad: the row of 16 checked channels times one row of the kernel, added to a row of
// 16 * vectors results.
struct SweepRow {
  const float* src;          // 16 channels of column 0
  float* dst;                // vector 0 of column 0
  std::ptrdiff_t dst_block;  // floats from a vector to the next
  const float* weights;      // [16 channels][taps of the row][vectors * 16]
  std::int64_t src_width;    // columns; kPixel: pixels to do
  std::int64_t dst_width;
  std::int64_t padding;
  std::ptrdiff_t src_step;  // kPixel: floats from a pixel to the next
  std::ptrdiff_t dst_step;
};
using SweepKernel = void (*)(const SweepRow&);

// weight_grad: one row of one checked channel, 16 images side by side in a vector, times a row of 16 *
// vectors channels of the other tensor in each of these images.
struct WeightRow {
  const float* checked;  // [width][16 images]
  const float* dense;    // [width][16 images][vectors * 16]
  float* dw;             // [taps of the row][vectors * 16], added to
  std::int64_t checked_width;
  std::int64_t dense_width;
  std::int64_t padding;
  std::int64_t checked_step;  // kPixel: columns from one pixel to the next
  std::int64_t dense_step;
};
using WeightKernel = void (*)(const WeightRow&);

struct RowKernels {
  SweepKernel sweep[kRowKinds][kVectorChoices];  // null: too many accumulators
  WeightKernel weight[kRowKinds][kVectorChoices];
};
#if defined(__x86_64__)
extern const RowKernels kAvx512RowKernels;
#endif

}  // namespace lacuna::kernels::sparsetrain
