// The tensors between layers.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/dense/onednn.hpp"
#include "kernels/dispatch/tensors.hpp"
#include "train/graph.hpp"

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
  float* grad = nullptr;  // own_grad, or the gradient of a sum that this is a part of; null: not needed
  int readers = 0;        // layers that read it
  int pending = 0;        // readers that have not delivered their gradient yet in this backward pass

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
// written before, beside it to be added.
class GradientSum {
 public:
  explicit GradientSum(std::int64_t largest, int threads) : beside_(largest), threads_(threads) {}
  // Null where no gradient is needed.
  float* begin(Activation& input) { return input.pending == input.readers ? input.grad : beside_.data(); }
  void end(Activation& input);

 private:
  AlignedFloats beside_;
  int threads_;
};

}  // namespace lacuna::train
