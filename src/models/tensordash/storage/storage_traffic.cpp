#include "models/tensordash/storage/storage_traffic.hpp"

namespace lacuna::tensordash {
namespace {

std::int64_t bytes(double bits) { return (static_cast<std::int64_t>(bits) + 7) / 8; }

}  // namespace

std::array<StoredTraffic, 3> layer_traffic(const Layer& layer, const LaneSelector& selector, FormBits form,
                                           const StorageParams& params, DataType type) {
  std::array<StoredTraffic, 3> traffic;
  for (const TensorRole role : {TensorRole::kA, TensorRole::kW, TensorRole::kG}) {
    const StorageBits bits =
        storage_bits(count_storage(layer.shape, role, layer.tensor(role).mask, selector, params), form,
                     bits_of(type), params);
    traffic[static_cast<std::size_t>(role)] = {role, bytes(bits.dense), bytes(bits.scheduled),
                                               bytes(bits.scheduled_pointers)};
  }
  return traffic;
}

OpTraffic op_traffic(const LayerShape& shape, Operation op, const std::array<StoredTraffic, 3>& tensors,
                     DataType type) {
  const auto of = [&](TensorRole role) { return tensors[static_cast<std::size_t>(role)]; };
  const auto [primary, secondary] = operands(op);
  const std::int64_t gradient_bytes = shape.w_elements() * bits_of(type) / 8;
  const StoredTraffic written = op == Operation::kForward     ? of(TensorRole::kG)
                                : op == Operation::kInputGrad ? of(TensorRole::kA)
                                                              : StoredTraffic{TensorRole::kW, gradient_bytes,
                                                                              gradient_bytes, gradient_bytes};
  return {op, {of(primary), of(secondary)}, written};
}

}  // namespace lacuna::tensordash
