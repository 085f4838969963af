#include "sim/without_zeros.hpp"

#include <deque>

namespace lacuna {
namespace {

struct RowsOfOnes : Trace::Storage {
  std::deque<std::vector<std::uint8_t>> rows;  // one for each tensor: all its rows are alike
};

void fill(LayerTensor& tensor, RowsOfOnes& storage) {
  MaskView& mask = tensor.mask;
  std::vector<std::uint8_t>& row = storage.rows.emplace_back(mask.readable_bytes(), 0xff);
  if (mask.channels % 8 != 0) row.back() = static_cast<std::uint8_t>((1U << (mask.channels % 8)) - 1);
  mask.data = row.data();
  mask.row_bytes = 0;
  tensor.values = {};
  tensor.nonzeros = tensor.elements();
}

}  // namespace

Trace trace_without_zeros(const Trace& recorded) {
  const auto storage = std::make_shared<RowsOfOnes>();
  std::vector<Layer> layers = recorded.layers();
  for (Layer& layer : layers) {
    layer.a_forward.reset();  // differs from A by its zeros alone
    for (LayerTensor* tensor : {&layer.a, &layer.w, &layer.g}) fill(*tensor, *storage);
  }
  return Trace(recorded.path(), recorded.info(), std::move(layers), storage, recorded.stored_bytes());
}

bool has_no_zeros(const Layer& layer) {
  return layer.a.zeros() == 0 && layer.w.zeros() == 0 && layer.g.zeros() == 0;
}

}  // namespace lacuna
