// Bytes of a layer's tensors in dense and in scheduled form, one pass over each: what a memory model
// multiplies by how often an operation reads or writes them [TensorDash §3.6].
#pragma once

#include <array>
#include <cstdint>

#include "models/tensordash/storage_footprint.hpp"
#include "sim/operation.hpp"

namespace lacuna::tensordash {

struct TensorTraffic {
  TensorRole role = TensorRole::kA;
  std::int64_t dense_bytes = 0;
  // The rows: read or written on chip, whether groups lie one after another or have room for the worst case.
  std::int64_t on_chip_bytes = 0;
  // The rows and the pointers to the groups: what crosses the pins.
  std::int64_t off_chip_bytes = 0;
};

// The three tensors of a layer as recorded (A and G: `n` samples).
std::array<TensorTraffic, 3> layer_traffic(const Layer& layer, const LaneSelector& selector, FormBits form,
                                           const StorageParams& params, ValueType type);

// What one operation reads and writes.
struct OpTraffic {
  Operation op = Operation::kForward;
  std::array<TensorTraffic, 2> reads;  // the operands, in the order of operands(op)
  // ASSUMPTION(A29): outputs are counted dense. Forward outputs and input gradients get their zeros from the
  // activation function, which lies between layers; the scheduled form of them is the next layer's A, and the
  // layer before's G. Gradients of weights have few zeros.
  std::int64_t written_bytes = 0;
};
OpTraffic op_traffic(const LayerShape& shape, Operation op, const std::array<TensorTraffic, 3>& tensors,
                     ValueType type);

}  // namespace lacuna::tensordash
