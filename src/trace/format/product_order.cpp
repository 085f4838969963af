#include "trace/format/product_order.hpp"

#include <algorithm>
#include <cstring>

namespace lacuna {
namespace {

// A run of channels in a row: those of one product.
struct Run {
  std::int64_t row, channel;
};

// Places of channels [0, width) of a product's row in each order.
struct Orders {
  std::int64_t products, rows, width;

  Run products_first(std::int64_t p, std::int64_t r) const { return {p * rows + r, 0}; }
  Run rows_first(std::int64_t p, std::int64_t r) const { return {r, p * width}; }
};

void copy_bits(const MaskView& from, Run source, std::int64_t count, std::uint8_t* row, std::int64_t first) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t at = first + done;
    const std::int64_t take = std::min<std::int64_t>(8 - at % 8, count - done);
    const std::uint64_t bits = from.bits(source.row, source.channel + done, take);
    row[at / 8] |= static_cast<std::uint8_t>(bits << (at % 8));
    done += take;
  }
}

template <typename From, typename To>
LayerTensor reordered(const LayerTensor& tensor, const Orders& orders, std::int64_t rows,
                      std::int64_t channels, TraceStorage& storage, const From& from, const To& to) {
  LayerTensor result = tensor;
  const std::int64_t row_bytes = (channels + 7) / 8;
  const auto for_each_run = [&](const auto& copy) {
    for (std::int64_t p = 0; p < orders.products; ++p)
      for (std::int64_t r = 0; r < orders.rows; ++r) copy(from(p, r), to(p, r));
  };
  if (tensor.mask.no_zeros()) {
    result.mask = {storage.row_of_ones(channels), rows, channels, 0};
  } else {
    std::uint8_t* bits = storage.allocate(rows * row_bytes);
    std::memset(bits, 0, static_cast<std::size_t>(rows * row_bytes));
    for_each_run([&](Run source, Run target) {
      copy_bits(tensor.mask, source, orders.width, bits + target.row * row_bytes, target.channel);
    });
    result.mask = {bits, rows, channels, row_bytes};
  }
  if (tensor.values) {
    const std::int64_t element = bytes_of(tensor.values.type);
    std::uint8_t* values = storage.allocate(rows * channels * element);
    for_each_run([&](Run source, Run target) {
      std::memcpy(values + (target.row * channels + target.channel) * element,
                  tensor.values.data + (source.row * tensor.values.channels + source.channel) * element,
                  static_cast<std::size_t>(orders.width * element));
    });
    result.values = {values, tensor.values.type, rows, channels};
  }
  return result;
}

}  // namespace

bool in_product_order(const LayerShape& shape, Operand role) {
  return shape.kind == LayerKind::kMatmul && shape.groups > 1 && role != Operand::kW;
}

LayerTensor rows_first(const LayerTensor& tensor, std::int64_t products, TraceStorage& storage) {
  const Orders orders{products, tensor.mask.rows / products, tensor.mask.channels};
  return reordered(
      tensor, orders, orders.rows, products * orders.width, storage,
      [&](std::int64_t p, std::int64_t r) { return orders.products_first(p, r); },
      [&](std::int64_t p, std::int64_t r) { return orders.rows_first(p, r); });
}

LayerTensor products_first(const LayerTensor& tensor, std::int64_t products, TraceStorage& storage) {
  const Orders orders{products, tensor.mask.rows, tensor.mask.channels / products};
  return reordered(
      tensor, orders, products * orders.rows, orders.width, storage,
      [&](std::int64_t p, std::int64_t r) { return orders.rows_first(p, r); },
      [&](std::int64_t p, std::int64_t r) { return orders.products_first(p, r); });
}

}  // namespace lacuna
