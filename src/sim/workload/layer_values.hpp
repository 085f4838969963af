// The values the functional engines move. A trace with values is used as it is; for a trace of masks small
// integers are drawn at the non-zeros, so that every sum is exact in FP32 and results can be compared for
// equality.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna {

// As masks have it: by the bits, whatever the processor makes of subnormal numbers.
inline bool is_nonzero(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffU) != 0; }

// Dense values of one tensor: [rows, channels], channels last, like its mask.
struct TensorValues {
  std::vector<float> data;
  std::int64_t channels = 0;
  bool exact = false;  // small integers: sums of products are exact in FP32

  float at(std::int64_t row, std::int64_t channel) const {
    return data[static_cast<std::size_t>(row * channels + channel)];
  }
  const float* row(std::int64_t r) const { return data.data() + r * channels; }
};

// The three tensors of a layer.
struct LayerValues {
  TensorValues a, w, g;
  const TensorValues& of(Operand role) const { return role == Operand::kA ? a : role == Operand::kW ? w : g; }
  TensorValues& of(Operand role) { return role == Operand::kA ? a : role == Operand::kW ? w : g; }
};

// In the data type that a machine computes in. What the masks, from which traffic and fast engines count,
// call a non-zero stays one: rounded_to() has taken out what rounds to zero.
LayerValues layer_values(const Layer& layer, std::uint64_t seed, DataType type = DataType::kFp32);

// `salt` makes the three tensors of a layer differ. Non-zeros of a mask-only tensor become -3..3 without 0,
// which keeps |sum| < 2^24 for reductions of up to 1.8 million pairs.
TensorValues tensor_values(const LayerTensor& tensor, std::uint64_t seed, std::uint64_t salt);

}  // namespace lacuna
