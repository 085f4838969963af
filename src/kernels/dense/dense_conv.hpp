// oneDNN behind the same interface: the baseline of every measurement and the fallback of the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

class DenseConv {
 public:
  // `algorithm` is one of kDense..., or kBfloat16; ConvError if there is none for this shape. Tensors are in
  // the layouts of the options. With `native`, activations are in the order that oneDNN chooses, too: the
  // baseline of measurements.
  DenseConv(const LayerShape& shape, const ConvOptions& options, Impl algorithm, bool native = false);
  // What it would ask scratchpad() for, with nothing allocated; 0 where there is none for this shape.
  static std::size_t scratchpad_bytes(const LayerShape& shape, const ConvOptions& options, Impl algorithm);
  ~DenseConv();
  DenseConv(const DenseConv&) = delete;
  DenseConv& operator=(const DenseConv&) = delete;

  const char* name() const;
  // `same_weights`: plain ones that are those of the run before, so that their reorder can be left out.
  void run(const ConvTensors& tensors, bool same_weights = false);

  std::int64_t src_floats() const;  // of a native tensor
  std::int64_t dst_floats() const;
  std::int64_t packed_floats() const;
  void pack(const float* oihw, float* packed);
  void unpack(const float* packed, float* oihw);

 private:
  DenseConv(const LayerShape& shape, const ConvOptions& options, Impl algorithm, bool native,
            bool sizes_only);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lacuna::kernels
