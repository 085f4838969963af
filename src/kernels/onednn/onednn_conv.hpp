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

// Returns working memory for oneDNN's primitives: at least this many bytes, valid until the calling thread
// asks for more; one for all primitives that it runs, which run one after the other. On huge pages: Winograd
// keeps tens of MB there, and on the library's own pages of 4 KB two equal primitives differed by up to 13 %,
// by how those lay.
void* scratchpad(std::size_t bytes);
// Bytes that the calling thread has.
std::size_t scratchpad_held();

}  // namespace lacuna::kernels
