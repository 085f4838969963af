#include "models/tensordash/storage/storage_traffic.hpp"

namespace lacuna::tensordash {
namespace {

std::int64_t bytes(double bits) { return (static_cast<std::int64_t>(bits) + 7) / 8; }

}  // namespace

StoredTraffic tensor_traffic(const Layer& layer, Operand role, const LaneSelector& selector, FormBits form,
                             const StorageParams& params, DataType type) {
  const StorageBits bits =
      storage_bits(count_storage(layer.shape, role, layer.tensor(role).mask, selector, params), form,
                   bits_of(type), params);
  return {role, bytes(bits.dense), bytes(bits.scheduled), bytes(bits.scheduled_pointers)};
}

PerOperand<StoredTraffic> layer_traffic(const Layer& layer, const LaneSelector& selector, FormBits form,
                                        const StorageParams& params, DataType type) {
  PerOperand<StoredTraffic> traffic;
  for (const Operand role : kOperands)
    traffic[role] = tensor_traffic(layer, role, selector, form, params, type);
  return traffic;
}

}  // namespace lacuna::tensordash
