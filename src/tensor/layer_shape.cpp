#include "tensor/layer_shape.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <string_view>

#include "base/error.hpp"

namespace lacuna {
namespace {

// No real layer is near these; they keep every product of sizes below 2^63.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// 0 for sizes that validate() refuses, whose products may overflow.
std::int64_t output_size(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                         std::int64_t dilation) {
  for (const std::int64_t size : {in, kernel, stride, padding, dilation})
    if (size < 0 || size > kMaxSize) return 0;
  if (stride == 0) return 0;
  const std::int64_t span = dilation * (kernel - 1) + 1;
  const std::int64_t room = in + 2 * padding - span;
  return room < 0 ? 0 : room / stride + 1;
}

std::string size_text(Size2 size) {
  return size.h == size.w ? fmt::format("{}", size.h) : fmt::format("{}x{}", size.h, size.w);
}

}  // namespace

std::string LayerShape::describe() const {
  if (sequence > 1) return fmt::format("recurrent {}->{} x{}x{}", c, k, sequence, n / sequence);
  if (kind == LayerKind::kLinear) return fmt::format("linear {}->{} x{}", c, k, n);
  if (kind == LayerKind::kMatmul)
    return fmt::format("matmul {}x{}x{} x{}", n, c_per_group(), k_per_group(), groups);
  std::string text = fmt::format("{}x{} {}->{} @{}x{}", kernel.h, kernel.w, c, k, input.h, input.w);
  if (stride != Size2{1, 1}) text += " s" + size_text(stride);
  if (dilation != Size2{1, 1}) text += " d" + size_text(dilation);
  if (groups != 1) text += fmt::format(" g{}", groups);
  return text;
}

void LayerShape::validate(const std::string& where) const {
  const std::string_view remedy = "correct the layer's description or record the trace again";
  struct Field {
    std::string_view name;
    std::int64_t value;
    std::int64_t min;
  };
  const bool matmul = kind == LayerKind::kMatmul;
  const std::array<Field, 16> fields{{{matmul ? "rows" : "batch", n, 1},
                                      {matmul ? "batch x in_features" : "in_channels", c, 1},
                                      {matmul ? "batch x out_features" : "out_channels", k, 1},
                                      {"input_hw[0]", input.h, 1},
                                      {"input_hw[1]", input.w, 1},
                                      {"kernel[0]", kernel.h, 1},
                                      {"kernel[1]", kernel.w, 1},
                                      {"stride[0]", stride.h, 1},
                                      {"stride[1]", stride.w, 1},
                                      {"padding[0]", padding.h, 0},
                                      {"padding[1]", padding.w, 0},
                                      {"dilation[0]", dilation.h, 1},
                                      {"dilation[1]", dilation.w, 1},
                                      {matmul ? "batch" : "groups", groups, 1},
                                      {"output_hw[0]", output.h, 1},
                                      {"output_hw[1]", output.w, 1}}};
  for (const Field& field : fields) {
    if (field.value < field.min || field.value > kMaxSize) {
      throw InputError(where,
                       fmt::format("{} is {}, outside {}..{}", field.name, field.value, field.min, kMaxSize),
                       remedy);
    }
  }
  if (c % groups != 0 || k % groups != 0) {
    throw InputError(
        where, fmt::format("groups {} does not divide in_channels {} and out_channels {}", groups, c, k),
        remedy);
  }
  const Size2 expected{output_size(input.h, kernel.h, stride.h, padding.h, dilation.h),
                       output_size(input.w, kernel.w, stride.w, padding.w, dilation.w)};
  if (expected != output) {
    throw InputError(
        where,
        fmt::format("output_hw is {}x{}, but input, kernel, stride, padding and dilation give {}x{}",
                    output.h, output.w, expected.h, expected.w),
        remedy);
  }
  // Each tensor must be small enough to index, and the work small enough to count in 63 bits.
  const auto product = [](std::initializer_list<std::int64_t> factors) {
    double value = 1;
    for (const std::int64_t factor : factors) value *= static_cast<double>(factor);
    return value;
  };
  const double largest = std::max({product({n, input.h, input.w, c}), product({n, output.h, output.w, k}),
                                   product({k, kernel.h, kernel.w, c_per_group()})});
  const double all_macs = product({n, output.h, output.w, k, kernel.h, kernel.w, c_per_group()});
  // Every weight with every input position: an upper bound for the phases of a strided input gradient.
  const double all_phases = product({n, input.h, input.w, k, kernel.h, kernel.w, c_per_group()});
  if (largest > static_cast<double>(kMaxElements) || std::max(all_macs, all_phases) > 0x1p60) {
    throw InputError(where, "the product of the layer's sizes overflows 63 bits", remedy);
  }
}

LayerShape LayerShape::linear(std::int64_t rows, std::int64_t in_features, std::int64_t out_features) {
  LayerShape shape;
  shape.kind = LayerKind::kLinear;
  shape.n = rows;
  shape.c = in_features;
  shape.k = out_features;
  return shape;
}

LayerShape LayerShape::recurrent(std::int64_t steps, std::int64_t samples, std::int64_t in_features,
                                 std::int64_t out_features) {
  LayerShape shape = linear(steps * samples, in_features, out_features);
  shape.sequence = steps;
  return shape;
}

LayerShape LayerShape::matmul(std::int64_t products, std::int64_t rows, std::int64_t in_features,
                              std::int64_t out_features) {
  LayerShape shape = linear(rows, products * in_features, products * out_features);
  shape.kind = LayerKind::kMatmul;
  shape.groups = products;
  return shape;
}

LayerShape LayerShape::conv2d(std::int64_t n, std::int64_t c, std::int64_t k, Size2 input, Size2 kernel,
                              Size2 stride, Size2 padding, Size2 dilation, std::int64_t groups) {
  LayerShape shape{.kind = LayerKind::kConv2d,
                   .n = n,
                   .c = c,
                   .k = k,
                   .input = input,
                   .output = {},
                   .kernel = kernel,
                   .stride = stride,
                   .padding = padding,
                   .dilation = dilation,
                   .groups = groups,
                   .sequence = 1};
  shape.output = {output_size(input.h, kernel.h, stride.h, padding.h, dilation.h),
                  output_size(input.w, kernel.w, stride.w, padding.w, dilation.w)};
  return shape;
}

}  // namespace lacuna
