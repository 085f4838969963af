// Tensors for a plan, filled with random values: for calibration, tests and benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

// 64-byte aligned floats.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::int64_t count);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  float& operator[](std::int64_t i) { return data_.get()[i]; }
  float operator[](std::int64_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t size_ = 0;
};

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
  // Only the checked operand anew.
  void refill_quickly(ConvPlan& plan, double zeros, std::uint64_t seed);
  // Another plan of the same operation and layouts, with weights of its own in `packed`, may run on these
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
