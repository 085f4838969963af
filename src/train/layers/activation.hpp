// The tensors between layers.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/layout/aligned_floats.hpp"
#include "kernels/onednn/onednn.hpp"
#include "train/graph/graph.hpp"

namespace lacuna::train {

using kernels::AlignedFloats;

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
  dnnl::memory::desc desc() const {
    return {{n, shape.c, shape.h, shape.w},
            dnnl::memory::data_type::f32,
            blocked() ? dnnl::memory::format_tag::nChw16c : dnnl::memory::format_tag::nchw};
  }
};

// Where a layer leaves the gradient of its input: in the activation itself or, where another reader has
// written before, in a second buffer that is added to it.
class GradientSum {
 public:
  explicit GradientSum(std::int64_t largest, int threads) : second_(largest), threads_(threads) {}
  // Null where no gradient is needed.
  float* begin(Activation& input);
  void end(Activation& input);
  // Begins and ends: the gradient of a sum goes to its parts as it is.
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
