// Convolutions in bfloat16 behind the same interface: tensors and weights are single precision, products take
// their operands rounded to bfloat16 (to nearest, ties to even; NaN stays NaN, denormals become zero), sums
// are single precision. Nothing is skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

// This CPU has AMX, or emulating it was asked for: "portable" as `isa` or in LACUNA_ISA.
bool bfloat16_available(const std::string& isa = "");
// About what forward, input_grad and `weight_grads` plans of weight_grad need beside packed weights.
double bfloat16_buffer_bytes(const LayerShape& shape, int threads, int weight_grads);
// Throws InputError where it is not; `where` starts the message.
void require_bfloat16(const std::string& where);

class Bfloat16Conv {
 public:
  // ConvError where it is not available, and for groups, plain tensors,
  // and channels-last ones whose channels are not a multiple of 16.
  Bfloat16Conv(const LayerShape& shape, const ConvOptions& options);
  ~Bfloat16Conv();
  Bfloat16Conv(const Bfloat16Conv&) = delete;
  Bfloat16Conv& operator=(const Bfloat16Conv&) = delete;

  const char* name() const;
  // `same_weights`: plain ones that are those of the run before, and need not be packed again.
  void run(const ConvTensors& tensors, bool same_weights = false);

  // Packed gradients are oihw.
  std::int64_t packed_floats() const;
  void pack(const float* oihw, float* packed);
  void unpack(const float* packed, float* oihw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lacuna::kernels
