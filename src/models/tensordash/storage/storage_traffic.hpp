// Bytes of a layer's tensors in dense and in scheduled form, one pass over each: what the memory model
// multiplies by how often an operation reads or writes them [TensorDash §3.6].
#pragma once

#include <array>
#include <cstdint>

#include "models/tensordash/storage/storage_footprint.hpp"
#include "tensor/operation.hpp"

namespace lacuna::tensordash {

struct StoredTraffic {
  Operand role = Operand::kA;
  std::int64_t dense_bytes = 0;
  // The rows: read or written on chip, whether groups lie one after another or have room for the worst case.
  std::int64_t on_chip_bytes = 0;
  // The rows and the pointers to the groups: what crosses the pins.
  std::int64_t off_chip_bytes = 0;
};

// The three tensors of a layer as recorded (A and G: `n` samples).
// ASSUMPTION(A29): what an operation writes has the form of what is recorded of its shape: outputs that of G,
// input gradients that of A, as A15 has it for zeros; gradients of weights stay dense. The memory model
// (sim/tile/tile_memory.hpp) applies it.
StoredTraffic tensor_traffic(const Layer& layer, Operand role, const LaneSelector& selector, FormBits form,
                             const StorageParams& params, DataType type);
PerOperand<StoredTraffic> layer_traffic(const Layer& layer, const LaneSelector& selector, FormBits form,
                                        const StorageParams& params, DataType type);

}  // namespace lacuna::tensordash
