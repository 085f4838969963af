// oneDNN's convolutions as kernels: the baseline of every measurement and what kAuto falls back to.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/conv_kernel.hpp"

namespace lacuna::kernels {

enum class OneDnnAlgorithm {
  kDirect,
  kItsChoice,  // Winograd on 3x3
  kWinograd,
  kGemm,
  kBfloat16  // direct, operands rounded to bfloat16
};

// ConvError if oneDNN has none for this convolution.
std::unique_ptr<ConvKernel> make_onednn(OneDnnAlgorithm algorithm, const KernelConfig& config);

// Bytes that run() would ask scratchpad() for, without making the kernel; 0 if there is none for this shape.
std::size_t onednn_scratchpad_bytes(OneDnnAlgorithm algorithm, const LayerShape& shape,
                                    const ConvOptions& options);

}  // namespace lacuna::kernels
