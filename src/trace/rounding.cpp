#include "trace/rounding.hpp"

#include <bit>
#include <deque>

#include "trace/mask_build.hpp"

namespace lacuna {
namespace {

struct RoundedTensors : Trace::Storage {
  explicit RoundedTensors(const Trace& trace) : recorded(trace) {}

  Trace recorded;  // keeps the other tensors
  std::deque<std::vector<float>> values;
  std::deque<std::vector<std::uint8_t>> masks;
};

template <typename Visit>
void for_each_value(const ValueView& values, const Visit& visit) {
  for (std::int64_t r = 0; r < values.rows; ++r) {
    for (std::int64_t c = 0; c < values.channels; ++c) visit(values.at(r, c));
  }
}

// By the bits, whatever the processor makes of subnormal numbers.
bool is_zero(float value) { return std::bit_cast<std::uint32_t>(value) << 1 == 0; }

}  // namespace

std::optional<Trace> rounded_to(const Trace& trace, DataType type) {
  const auto round = facts_of(type).round;
  const auto storage = std::make_shared<RoundedTensors>(trace);
  std::vector<Layer> layers = trace.layers();
  for (Layer& layer : layers) {
    LayerTensor* const forward = layer.a_forward ? &*layer.a_forward : nullptr;
    for (LayerTensor* const tensor : {&layer.a, &layer.w, &layer.g, forward}) {
      if (tensor == nullptr || !tensor->values || tensor->values.type == type) continue;
      std::int64_t nonzeros = 0;
      for_each_value(tensor->values, [&](float value) { nonzeros += is_zero(round(value)) ? 0 : 1; });
      if (nonzeros == tensor->nonzeros) continue;
      std::vector<float>& values = storage->values.emplace_back();
      for_each_value(tensor->values,
                     [&](float value) { values.push_back(is_zero(round(value)) ? 0.0F : value); });
      tensor->values.data = reinterpret_cast<const std::uint8_t*>(values.data());
      tensor->values.type = DataType::kFp32;
      MaskView& mask = tensor->mask;
      mask.row_bytes = mask.readable_bytes();
      std::vector<std::uint8_t>& bits =
          storage->masks.emplace_back(static_cast<std::size_t>(mask.rows * mask.row_bytes));
      mask_from_values(tensor->values, bits.data(), trace.path() + ": " + layer.name);
      mask.data = bits.data();
      tensor->nonzeros = nonzeros;
    }
  }
  if (storage->values.empty()) return std::nullopt;
  return Trace(trace.path(), trace.info(), std::move(layers), storage, trace.stored_bytes());
}

}  // namespace lacuna
