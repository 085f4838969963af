// The tensors between layers.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "kernels/conv.hpp"
#include "kernels/layout/aligned_floats.hpp"
#include "kernels/layout/blocked.hpp"
#include "kernels/onednn/onednn.hpp"
#include "train/graph/graph.hpp"

namespace lacuna::train {

using dnnl::memory;
using kernels::AlignedFloats;

// Wraps memory of an activation; a primitive that only reads it does not write to it.
inline memory on(const memory::desc& desc, const float* data) {
  return {desc, kernels::cpu_engine(), const_cast<float*>(data)};
}

// Runs one of oneDNN's primitives to its end.
void execute(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& args);

// The output of a layer for a whole batch, with its gradient. Everything is nChw16c, the fastest layout for
// the kernels and for oneDNN's primitives; channels past the last are zero and stay so. Images that only
// convolutions read stay plain (NCHW), which is faster for three channels. Vectors (linear layers) are 1x1
// images.
struct Activation {
  std::int64_t n = 0;
  SampleShape shape;
  kernels::Layout layout = kernels::Layout::kBlocked;
  AlignedFloats data;
  AlignedFloats own_grad;
  float* grad = nullptr;   // own_grad, or the gradient of a sum that this is a part of; null: not needed
  int readers = 0;         // layers that read it
  int pending = 0;         // readers that have not delivered their gradient yet in this backward pass
  bool adds_late = false;  // the layer that wrote it adds the last of several gradients itself

  std::int64_t blocks() const { return (shape.c + 15) / 16; }
  bool blocked() const { return layout == kernels::Layout::kBlocked; }
  std::int64_t floats() const { return blocked() ? n * blocks() * 16 * shape.h * shape.w : n * shape.size(); }
  std::int64_t pixels() const { return shape.h * shape.w; }
  memory::dims dims() const { return {n, shape.c, shape.h, shape.w}; }
  memory::desc desc() const {
    return {dims(), memory::data_type::f32,
            blocked() ? memory::format_tag::nChw16c : memory::format_tag::nchw};
  }
};

// A blocked tensor as the kernels of a layer take it: as it is, or as a plain copy for shapes whose channels
// do not fill blocks.
class KernelTensor {
 public:
  KernelTensor() = default;
  KernelTensor(const kernels::BlockedShape& shape, bool blocked, int threads)
      : shape_(shape),
        threads_(threads),
        plain_(blocked ? AlignedFloats() : AlignedFloats(shape.n * shape.channels * shape.h * shape.w)) {}

  // Returns what kernels read for a tensor, valid until the next call, and where they write it.
  const float* read(const float* blocked) {
    if (plain_.size() == 0) return blocked;
    kernels::from_blocked(shape_, kernels::Layout::kNchw, blocked, plain_.data(), threads_);
    return plain_.data();
  }
  float* written(float* blocked) { return plain_.size() == 0 ? blocked : plain_.data(); }
  // Copies the result back. Call it after the kernel has written it.
  void finish(float* blocked) {
    if (plain_.size() > 0)
      kernels::to_blocked(shape_, kernels::Layout::kNchw, plain_.data(), blocked, threads_);
  }

 private:
  kernels::BlockedShape shape_{};
  int threads_ = 1;
  AlignedFloats plain_;
};

// Collects the gradient of a layer's input: in the activation itself or, where another reader has already
// written, in a second buffer that is added to it.
class GradientSum {
 public:
  explicit GradientSum(std::int64_t largest, int threads) : second_(largest), threads_(threads) {}
  // Returns where to write the gradient; null where none is needed.
  float* begin(Activation& input);
  void end(Activation& input);
  // Begins and ends: copies the gradient of a sum to one of its parts.
  void copy(const Activation& sum, Activation& part);
  // Returns the part of the gradient that an activation which adds late still has to add, or null. The next
  // begin() may give the same memory.
  const float* take_late(Activation& output);

 private:
  void add(Activation& input);

  AlignedFloats second_;
  Activation* late_ = nullptr;  // whose gradient `second_` is still to be added to
  int threads_;
};

}  // namespace lacuna::train
