#include "sim/outer_product/index_map.hpp"

namespace lacuna::outer_product {
namespace {

AxisMap axis(Operation op, std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride,
             std::int64_t padding, std::int64_t dilation) {
  switch (op) {
    case Operation::kForward:
      return {1, dilation, stride, padding, input, kernel, output};
    case Operation::kInputGrad:
      return {stride, dilation, 1, dilation * (kernel - 1) - padding, output, kernel, input};
    case Operation::kWeightGrad:
      return {1, stride, dilation, padding, input, output, kernel};
  }
  return {};
}

}  // namespace

IndexMap IndexMap::convolution(const LayerShape& s, Operation op) {
  return {Kind::kConvolution,
          axis(op, s.input.h, s.output.h, s.kernel.h, s.stride.h, s.padding.h, s.dilation.h),
          axis(op, s.input.w, s.output.w, s.kernel.w, s.stride.w, s.padding.w, s.dilation.w)};
}

IndexMap IndexMap::matrix(std::int64_t reduction, std::int64_t image_columns, std::int64_t kernel_columns) {
  IndexMap map;
  map.kind = Kind::kMatrix;
  map.y.image = map.y.kernel = reduction;
  map.y.outputs = image_columns;
  map.x.image = image_columns;
  map.x.kernel = map.x.outputs = kernel_columns;
  return map;
}

}  // namespace lacuna::outer_product
