// Convolutions in bfloat16 behind the same interface: tensors and weights are single precision, products take
// their operands rounded to bfloat16 (to nearest, ties to even; NaN stays NaN, denormals become zero), sums
// are single precision. Nothing is skipped.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

// Unit that multiplies. Tiles are ours (AMX, or emulated if `isa` or $LACUNA_ISA is "portable");
// pairs are oneDNN's (AVX512-BF16 on CPUs without tiles: Zen 4, Cooper Lake).
enum class Bfloat16Unit { kNone, kTiles, kPairs };
Bfloat16Unit bfloat16_unit(const std::string& isa = "");
inline bool bfloat16_available(const std::string& isa = "") {
  return bfloat16_unit(isa) != Bfloat16Unit::kNone;
}
// Estimates the memory of forward, input_grad and `weight_grads` plans of weight_grad, without packed
// weights.
double bfloat16_buffer_bytes(const LayerShape& shape, int threads, int weight_grads);
// Throws InputError where it is not available; `where` starts the message.
void require_bfloat16(const std::string& where);

}  // namespace lacuna::kernels
