// The definition of the three operations, in double precision and in the plainest order. Every kernel is
// compared with it. Nothing is skipped: 0 x Inf is NaN here.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

class RefConv {
 public:
  // Uses the operation, the layouts and relu of the options.
  RefConv(const LayerShape& shape, const ConvOptions& options);

  // `sum` gets the result in the order of the result tensor (OIHW for weight_grad). `magnitude`, if given,
  // gets the sum of the absolute products (and |bias|), which bounds the rounding error of any order of
  // summation. Padding channels of a blocked result are zero.
  void run(const ConvTensors& tensors, double* sum, double* magnitude = nullptr) const;
  std::int64_t result_size() const;

 private:
  LayerShape shape_;
  Operation op_;
  Layout src_layout_, dst_layout_;
  bool relu_;
};

}  // namespace lacuna::kernels
