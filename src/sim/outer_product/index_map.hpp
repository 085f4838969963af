// Maps a product of an image element and a kernel element to its output, and finds the kernel elements that
// can meet an image element at all. One map covers the three training convolutions and matrix multiplication
// [docs/models/scnn.md "One pair"].
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ceil_div.hpp"
#include "tensor/layer_shape.hpp"
#include "tensor/operation.hpp"

namespace lacuna::outer_product {

// Division that rounds down, of any dividend by a positive divisor.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return -ceil_div(-a, b); }

// One axis of a convolution: image position t and kernel position r meet at u = e*t + P - d*r, which is
// output u/st if u >= 0, st divides u and u/st < outputs. Otherwise the product is redundant (an RCP).
struct AxisMap {
  std::int64_t image_step = 1;   // e
  std::int64_t kernel_step = 1;  // d
  std::int64_t output_step = 1;  // st
  std::int64_t offset = 0;       // P
  std::int64_t image = 1;        // positions of the image along this axis
  std::int64_t kernel = 1;       // of the kernel
  std::int64_t outputs = 1;

  // The rows of the table in docs/models/scnn.md: image A, kernel W; image G, kernel W rotated by 180
  // degrees; image A, kernel G.
  static AxisMap of(Operation op, std::int64_t input, std::int64_t output, std::int64_t kernel,
                    std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
    if (op == Operation::kForward) return {1, dilation, stride, padding, input, kernel, output};
    if (op == Operation::kWeightGrad) return {1, stride, dilation, padding, input, output, kernel};
    return {stride, dilation, 1, dilation * (kernel - 1) - padding, output, kernel, input};
  }

  // The output's position, or -1 for an RCP.
  std::int64_t output(std::int64_t t, std::int64_t r) const {
    const std::int64_t u = image_step * t + offset - kernel_step * r;
    if (u < 0 || u % output_step != 0) return -1;
    const std::int64_t o = u / output_step;
    return o < outputs ? o : -1;
  }
  // The kernel positions that may meet image position t lie between these two, which both grow with t.
  std::int64_t first_kernel(std::int64_t t) const {
    return std::max<std::int64_t>(
        0, ceil_div(image_step * t + offset - output_step * (outputs - 1), kernel_step));
  }
  std::int64_t last_kernel(std::int64_t t) const {
    return std::min(kernel - 1, floor_div(image_step * t + offset, kernel_step));
  }
  // Outputs that image positions first..last can reach: [low, high], empty if low > high.
  struct Span {
    std::int64_t low = 0, high = -1;
    std::int64_t size() const { return std::max<std::int64_t>(0, high - low + 1); }
  };
  Span reach(std::int64_t first, std::int64_t last) const {
    return {std::max<std::int64_t>(
                0, ceil_div(image_step * first + offset - kernel_step * (kernel - 1), output_step)),
            std::min(outputs - 1, floor_div(image_step * last + offset, output_step))};
  }
};

// A rectangle of kernel positions, both ends included.
struct KernelRange {
  std::int64_t r0 = 0, r1 = -1, s0 = 0, s1 = -1;
  bool empty() const { return r0 > r1 || s0 > s1; }
};

struct IndexMap {
  enum class Kind {
    kConvolution,
    // Image (reduction index, row of the result) against kernel (reduction index, column of the result): a
    // product is useful only if the reduction indices are equal [ANT abstract: sparse matrix multiplication].
    kMatrix,
  };
  Kind kind = Kind::kConvolution;
  AxisMap y, x;

  struct Output {
    std::int64_t y = -1, x = -1;
    bool valid() const { return y >= 0; }
  };
  Output output(std::int64_t iy, std::int64_t ix, std::int64_t r, std::int64_t s) const {
    if (kind == Kind::kMatrix) return iy == r ? Output{ix, s} : Output{};
    const std::int64_t oy = y.output(iy, r);
    if (oy < 0) return {};
    const std::int64_t ox = x.output(ix, s);
    return ox < 0 ? Output{} : Output{oy, ox};
  }
  Size2 outputs() const { return {y.outputs, x.outputs}; }

  // The kernel positions that can be useful to some image element in rows y0..y1, columns x0..x1.
  // ASSUMPTION(N4): an interval on each axis; whether the stride divides is seen only after multiplying.
  KernelRange range(std::int64_t y0, std::int64_t y1, std::int64_t x0, std::int64_t x1) const {
    if (kind == Kind::kMatrix) return {y0, y1, 0, x.kernel - 1};
    return {y.first_kernel(y0), y.last_kernel(y1), x.first_kernel(x0), x.last_kernel(x1)};
  }

  static IndexMap convolution(const LayerShape& s, Operation op) {
    return {Kind::kConvolution,
            AxisMap::of(op, s.input.h, s.output.h, s.kernel.h, s.stride.h, s.padding.h, s.dilation.h),
            AxisMap::of(op, s.input.w, s.output.w, s.kernel.w, s.stride.w, s.padding.w, s.dilation.w)};
  }
  // result[image_columns x kernel_columns] = image^T * kernel, both [reduction, columns].
  static IndexMap matrix(std::int64_t reduction, std::int64_t image_columns, std::int64_t kernel_columns) {
    const AxisMap y{.image = reduction, .kernel = reduction, .outputs = image_columns};
    return {Kind::kMatrix, y, {.image = image_columns, .kernel = kernel_columns, .outputs = kernel_columns}};
  }
};

}  // namespace lacuna::outer_product
