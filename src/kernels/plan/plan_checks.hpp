// Checks of options that contradict each other and of tensors that a plan cannot use.
#pragma once

#include <cstdint>

#include "base/cpu.hpp"
#include "kernels/conv.hpp"

namespace lacuna::kernels {

// Throws ConvError, or InputError for a shape that is not a convolution.
void check_options(const LayerShape& shape, const ConvOptions& options);

// The instruction set called `name`, or this CPU's best for "".
Isa pick_isa(const std::string& name);

// Requirements on a tensor of the caller.
struct TensorNeeds {
  std::int64_t floats;
  bool vector_aligned;
};
struct PlanNeeds {
  TensorNeeds src, dst, weights, bias;
};

// Throws ConvError for a tensor of the operation that is null, misaligned or overlaps the result.
void check_tensors(const ConvOptions& options, const PlanNeeds& needs, const ConvTensors& tensors);

}  // namespace lacuna::kernels
