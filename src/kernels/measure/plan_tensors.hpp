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
  // The same, but a value of the checked operand is zero where `nonzero(image, channel, pixel)` is false; of
  // weights, `nonzero(output channel, input channel of the group, tap)`.
  void fill(ConvPlan& plan, const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& nonzero,
            std::uint64_t seed);
  // For timing, in a fraction of the time: other values, with this share of zeros in the checked operand.
  void fill_quickly(ConvPlan& plan, double zeros, std::uint64_t seed);
  // Refills only the operand whose zeros are skipped.
  void refill_quickly(ConvPlan& plan, double zeros, std::uint64_t seed);
  // Gives another plan of the same operation and layouts its weights in `packed`, so that it may run on these
  // tensors.
  void give_weights(ConvPlan& plan, AlignedFloats& packed);
  ConvTensors tensors(AlignedFloats& packed);
  ConvTensors tensors();
  AlignedFloats& result();  // of the operation: dst, src or weights

  AlignedFloats src, weights, dst, bias;
  AlignedFloats plain_weights;  // OIHW, what `weights` was packed from

 private:
  void draw_quickly(ConvPlan& plan, double zeros, std::uint64_t seed, bool checked_only);

  Operation op_;
};

}  // namespace lacuna::kernels
