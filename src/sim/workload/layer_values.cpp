#include "sim/workload/layer_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/memory.hpp"
#include "base/random.hpp"
#include "base/text/quote.hpp"
#include "tensor/data_type.hpp"

namespace lacuna {

TensorValues tensor_values(const LayerTensor& tensor, std::uint64_t seed, std::uint64_t salt) {
  TensorValues values;
  const MaskView& mask = tensor.mask;
  values.channels = mask.channels;
  values.data.resize(static_cast<std::size_t>(tensor.elements()));
  float* out = values.data.data();
  if (tensor.values) {
    for (std::int64_t r = 0; r < mask.rows; ++r) {
      for (std::int64_t c = 0; c < mask.channels; ++c) *out++ = tensor.values.at(r, c);
    }
    return values;
  }
  values.exact = true;
  constexpr std::array<float, 8> kDraws{-3, -2, -1, 1, 2, 3, -1, 1};
  Random random(seed * 0x9e3779b97f4a7c15ULL + salt);
  std::uint64_t pool = 0;
  int left = 0;
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    const std::uint8_t* row = mask.row(r);
    for (std::int64_t c = 0; c < mask.channels; ++c, ++out) {
      if (((row[c / 8] >> (c % 8)) & 1) == 0) continue;
      if (left == 0) {
        pool = random.bits();
        left = 21;  // 3 bits per draw
      }
      *out = kDraws[pool & 7];
      pool >>= 3;
      --left;
    }
  }
  return values;
}

LayerValues layer_values(const Layer& layer, std::uint64_t seed, DataType type) {
  // The values, what the engine computes of them, and the reference's result, which is in double precision.
  const double elements[] = {static_cast<double>(layer.a.elements()), static_cast<double>(layer.w.elements()),
                             static_cast<double>(layer.g.elements())};
  const double largest = *std::ranges::max_element(elements);
  const MemoryClaim claim(4 * (elements[0] + elements[1] + elements[2]) + 12 * largest,
                          "layer " + quote_name(layer.name), "the functional engine");
  LayerValues values{tensor_values(layer.a, seed, 1), tensor_values(layer.w, seed, 2),
                     tensor_values(layer.g, seed, 3)};
  if (type == DataType::kFp32) return values;
  const DataTypeFacts& facts = facts_of(type);
  for (TensorValues* tensor : {&values.a, &values.w, &values.g}) {
    for (float& value : tensor->data) {
      const float rounded = facts.round(value);
      value = is_nonzero(value) && !is_nonzero(rounded) ? std::copysign(facts.smallest, value) : rounded;
    }
  }
  return values;
}

}  // namespace lacuna
