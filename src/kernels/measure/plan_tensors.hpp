// Tensors for a plan, filled with random values: for calibration, tests and benchmarks.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/conv.hpp"
#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {

class PlanTensors {
 public:
  explicit PlanTensors(const ConvPlan& plan);
  // Random values from `seed`; the checked operand has this share of zeros. The same seed gives the same
  // tensors in any layout of the plan.
  void fill(ConvPlan& plan, double zeros, std::uint64_t seed);
  // The same, but with zeros where these are false: values of the checked activations or gradients by image,
  // channel and pixel, weights by output channel, input channel of the group and tap. Null: none.
  struct Nonzero {
    std::function<bool(std::int64_t, std::int64_t, std::int64_t)> data, weight;
  };
  void fill(ConvPlan& plan, const Nonzero& nonzero, std::uint64_t seed);
  // For timing, in a fraction of the time: other values, with this share of zeros in the checked operand.
  // `checked_only`: refills only that.
  void fill_quickly(ConvPlan& plan, double zeros, std::uint64_t seed, bool checked_only = false);
  // Gives another plan of the same operation and layouts its weights in `packed`, so that it may run on these
  // tensors.
  void give_weights(ConvPlan& plan, AlignedFloats& packed);
  ConvTensors tensors(AlignedFloats& packed);
  ConvTensors tensors();
  AlignedFloats& result();                             // of the operation: dst, src or weights
  AlignedFloats& checked(const ConvOptions& options);  // activations or gradients

  AlignedFloats src, weights, dst, bias;
  AlignedFloats needed;         // input_grad that takes_needed(): A, and `src` is the result
  AlignedFloats plain_weights;  // OIHW, what `weights` was packed from

 private:
  Operation op_;
};

}  // namespace lacuna::kernels
