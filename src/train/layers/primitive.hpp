// Running oneDNN's primitives on the memory of activations.
#pragma once

#include "train/layers/activation.hpp"

namespace lacuna::train {

using dnnl::memory;

inline dnnl::stream& cpu_stream() {
  static dnnl::stream stream(kernels::cpu_engine());
  return stream;
}

// Only written to if the primitive writes it.
inline memory on(const memory::desc& desc, const float* data) {
  return {desc, kernels::cpu_engine(), const_cast<float*>(data)};
}

}  // namespace lacuna::train
