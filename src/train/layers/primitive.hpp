// Running oneDNN's primitives on the memory of activations.
#pragma once

#include "train/layers/activation.hpp"

namespace lacuna::train {

using dnnl::memory;

inline dnnl::stream& cpu_stream() {
  static dnnl::stream stream(kernels::cpu_engine());
  return stream;
}

// Runs a primitive to its end.
template <typename Primitive, typename... Args>
void execute(const Primitive& primitive, Args&&... args) {
  primitive.execute(cpu_stream(), std::forward<Args>(args)...);
  cpu_stream().wait();
}

// Wraps memory of an activation; a primitive that only reads it does not write to it.
inline memory on(const memory::desc& desc, const float* data) {
  return {desc, kernels::cpu_engine(), const_cast<float*>(data)};
}

}  // namespace lacuna::train
