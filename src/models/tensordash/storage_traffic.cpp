#include "models/tensordash/storage_traffic.hpp"

namespace lacuna::tensordash {
namespace {

std::int64_t bytes(double bits) { return (static_cast<std::int64_t>(bits) + 7) / 8; }

std::int64_t outputs(const LayerShape& shape, Operation op) {
  return op == Operation::kForward     ? shape.g_elements()
         : op == Operation::kInputGrad ? shape.a_elements()
                                       : shape.w_elements();
}

}  // namespace

std::array<TensorTraffic, 3> layer_traffic(const Layer& layer, const LaneSelector& selector, FormBits form,
                                           const StorageParams& params, ValueType type) {
  std::array<TensorTraffic, 3> traffic;
  for (const TensorRole role : {TensorRole::kA, TensorRole::kW, TensorRole::kG}) {
    const StorageBits bits =
        storage_bits(count_storage(layer.shape, role, layer.tensor(role).mask, selector, params), form,
                     bits_of(type), params);
    traffic[static_cast<std::size_t>(role)] = {role, bytes(bits.dense), bytes(bits.scheduled),
                                               bytes(bits.scheduled_pointers)};
  }
  return traffic;
}

OpTraffic op_traffic(const LayerShape& shape, Operation op, const std::array<TensorTraffic, 3>& tensors,
                     ValueType type) {
  const auto [text, other] = operands(op);
  return {op,
          {tensors[static_cast<std::size_t>(text)], tensors[static_cast<std::size_t>(other)]},
          outputs(shape, op) * bits_of(type) / 8};
}

}  // namespace lacuna::tensordash
