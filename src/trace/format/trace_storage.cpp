#include "trace/format/trace_storage.hpp"

#include <algorithm>
#include <cstring>

#include "trace/format/product_order.hpp"
#include "trace/mask_build.hpp"

namespace lacuna {

std::uint8_t* TraceStorage::allocate(std::int64_t bytes) {
  blocks.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(bytes)));
  return blocks.back().get();
}

const std::uint8_t* TraceStorage::row_of_ones(std::int64_t channels) {
  const std::int64_t needed = (channels + 7) / 8;
  const auto tail = static_cast<unsigned>(channels % 8);
  Ones& ones = ones_[tail];
  if (ones.size < needed) {
    ones.size = std::max<std::int64_t>(needed, 2 * ones.size);
    ones.bytes = allocate(ones.size);
    std::memset(ones.bytes, 0xff, static_cast<std::size_t>(ones.size));
    if (tail != 0) ones.bytes[ones.size - 1] = static_cast<std::uint8_t>((1U << tail) - 1);
  }
  return ones.bytes + ones.size - needed;  // rows of different lengths share their end
}

TensorExtent TensorExtent::of(const LayerShape& shape, Operand role) {
  const bool matmul = shape.kind == LayerKind::kMatmul;
  std::int64_t rows = 1;
  for (const std::int64_t size : tensor_shape(shape, role, 1)) rows *= size;
  if (role == Operand::kW) return {rows, shape.c_per_group()};
  if (role == Operand::kA) return {rows, matmul ? shape.c_per_group() : shape.c};
  return {rows, matmul ? shape.k_per_group() : shape.k};
}

std::vector<std::int64_t> tensor_shape(const LayerShape& shape, Operand role, std::int64_t last) {
  const bool weights = role == Operand::kW;
  if (shape.kind == LayerKind::kMatmul) return {shape.groups, weights ? shape.k_per_group() : shape.n, last};
  const std::int64_t outer = weights ? shape.k : shape.n;
  if (shape.kind == LayerKind::kLinear) return {outer, last};
  const Size2 size = weights ? shape.kernel : role == Operand::kA ? shape.input : shape.output;
  return {outer, size.h, size.w, last};
}

LayerTensor make_layer_tensor(const LayerShape& shape, TraceTensor which, const std::uint8_t* mask,
                              const ValueView& values, TraceStorage& storage, const std::string& place) {
  const TensorExtent extent = TensorExtent::of(shape, which.operand);
  const std::int64_t row_bytes = (extent.channels + 7) / 8;
  LayerTensor tensor;
  tensor.values = values;
  tensor.mask = {mask, extent.rows, extent.channels, row_bytes};
  const std::string name = which.name();
  if (mask != nullptr) {
    check_mask_tails(tensor.mask, place + ": " + name + ".mask");
    if (values) check_mask_fits_values(tensor.mask, values, place + ": " + name);
  } else if (values) {
    std::uint8_t* built = storage.allocate(extent.mask_bytes());
    mask_from_values(values, built, place + ": " + name);
    tensor.mask.data = built;
  } else {
    tensor.mask.data = storage.row_of_ones(extent.channels);  // no zeros
    tensor.mask.row_bytes = 0;
  }
  tensor.nonzeros = count_nonzeros(tensor.mask);
  return in_product_order(shape, which.operand) ? rows_first(tensor, shape.groups, storage) : tensor;
}

}  // namespace lacuna
