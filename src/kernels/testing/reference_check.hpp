// Shapes that are meant to break kernels, and a comparison of what a plan computes with the double-precision
// reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

// Rounding errors of a sum of n products are below n * eps * sum of |products|; random errors are far below.
inline constexpr double kTolerance = 32 * std::numeric_limits<float>::epsilon();

struct Case {
  std::int64_t n, c, k;
  Size2 input, kernel, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
  LayerShape shape() const {
    if (input == Size2{1, 1} && kernel == Size2{1, 1} && n > 1) return LayerShape::linear(n, c, k);
    return LayerShape::conv2d(n, c, k, input, kernel, stride, padding, dilation, groups);
  }
};

// Tails of channels, widths around the unrolled steps, images smaller than the kernel, all strides and
// paddings.
inline std::vector<Case> cases() {
  std::vector<Case> list;
  for (const std::int64_t w : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 17, 29})
    list.push_back({2, 19, 18, {w % 5 + 1, w}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({3, 64, 64, {7, 7}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({1, 80, 48, {30, 31}, {3, 3}, {1, 1}, {1, 1}});
  list.push_back({1, 3, 16, {60, 58}, {3, 3}, {1, 1}, {1, 1}});    // several bands of rows
  list.push_back({1, 160, 33, {14, 14}, {3, 3}, {1, 1}, {1, 1}});  // several parts of channels
  list.push_back({5, 37, 70, {1, 1}, {1, 1}});                     // linear
  list.push_back({1, 1, 1, {1, 1}, {1, 1}});
  list.push_back({70, 130, 145, {1, 1}, {1, 1}});
  list.push_back({33, 64, 128, {1, 1}, {1, 1}});
  list.push_back({2, 1, 17, {1, 1}, {3, 3}, {1, 1}, {1, 1}});  // one pixel, one tap of nine
  list.push_back({2, 100, 130, {9, 11}, {1, 1}});
  list.push_back({2, 65, 40, {9, 10}, {1, 1}, {2, 2}});
  list.push_back({2, 20, 24, {5, 6}, {1, 1}, {1, 1}, {1, 1}});  // 1x1 with padding
  list.push_back({1, 16, 16, {40, 30}, {1, 1}, {3, 2}});
  for (const Size2 stride : {Size2{2, 2}, Size2{1, 2}, Size2{3, 1}, Size2{4, 4}})
    for (const Size2 padding : {Size2{0, 0}, Size2{1, 1}, Size2{2, 0}})
      list.push_back({2, 18, 35, {11, 12}, {3, 3}, stride, padding});
  list.push_back({1, 24, 20, {12, 9}, {3, 3}, {1, 1}, {0, 0}});
  list.push_back({1, 24, 20, {12, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2}});  // dilated
  list.push_back({1, 10, 20, {13, 12}, {3, 2}, {2, 1}, {1, 1}, {1, 3}});
  list.push_back({2, 17, 20, {9, 9}, {5, 5}, {1, 1}, {2, 2}});
  list.push_back({1, 3, 20, {23, 21}, {7, 7}, {2, 2}, {3, 3}});
  list.push_back({1, 3, 18, {35, 35}, {11, 11}, {4, 4}, {2, 2}});
  list.push_back({2, 12, 24, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 3});  // groups
  list.push_back({2, 64, 32, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2});
  list.push_back({1, 9, 9, {6, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 9});  // depthwise
  list.push_back({2, 6, 10, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2});
  return list;
}

// Each instruction set by name; skipped where this CPU has none.
class EachInstructionSet : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!isa_available(isa_named(GetParam()).value())) GTEST_SKIP() << "this CPU has no " << GetParam();
  }
};

// Returns the result of forward for one pixel with as many channels as there are values.
inline float run_pixel(const ConvOptions& options, const std::vector<float>& x, const std::vector<float>& w) {
  ConvPlan plan(LayerShape::conv2d(1, static_cast<std::int64_t>(x.size()), 1, {1, 1}, {1, 1}), options);
  float y = 0;
  ConvTensors t;
  t.src = x.data();
  t.weights = w.data();
  t.dst = &y;
  plan.run(t);
  return y;
}

inline std::string name_of(const LayerShape& shape, const ConvOptions& o, const ConvPlan& plan,
                           double zeros) {
  return shape.describe() + " n" + std::to_string(shape.n) + " g" + std::to_string(shape.groups) + " " +
         std::string(operation_name(o.op)) + " " + impl_name(o.impl) + " (" + plan.kernel() + ") layout " +
         std::to_string(static_cast<int>(o.layout)) + " threads " + std::to_string(o.threads) + " zeros " +
         std::to_string(zeros);
}

// Runs a plan and compares each element with the reference of the plain tensors. `prepare` may change the
// plain operands after they were drawn.
inline void check_against_reference(const LayerShape& shape, const ConvOptions& options, double zeros,
                                    std::uint64_t seed, double tolerance = kTolerance,
                                    const std::function<void(PlanTensors&)>& prepare = {}) {
  ConvPlan plan(shape, options);
  PlanTensors data(plan);
  data.fill(plan, zeros, seed);
  if (prepare) {
    prepare(data);
    data.give_weights(plan, data.weights);
  }
  const ConvTensors tensors = data.tensors();
  AlignedFloats& out = data.result();
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = std::numeric_limits<float>::quiet_NaN();
  const RefConv ref(shape, options);
  std::vector<double> sum(static_cast<std::size_t>(ref.result_size()));
  std::vector<double> magnitude(sum.size());
  ConvTensors ref_tensors = tensors;
  if (options.op != Operation::kWeightGrad) ref_tensors.weights = data.plain_weights.data();
  if (!options.bias) ref_tensors.bias = nullptr;
  ref.run(ref_tensors, sum.data(), magnitude.data());
  const ConvRun run = plan.run(tensors);
  if (options.impl == Impl::kBfloat16 || options.impl == Impl::kDense1x1 ||
      options.impl == Impl::kWinograd4x4) {  // and nothing else in its place
    EXPECT_EQ(run.used, options.impl);
  }
  const float* got = out.data();
  std::vector<float> plain;
  if (options.op == Operation::kWeightGrad && options.weights == WeightLayout::kPacked) {
    plain.resize(sum.size());
    plan.unpack_weights(out.data(), plain.data());
    got = plain.data();
  }
  // Only the gradients of non-zero weights are computed.
  if (options.op == Operation::kWeightGrad && options.checked == Operand::kW)
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (data.plain_weights[static_cast<std::int64_t>(i)] == 0.0F) sum[i] = magnitude[i] = 0;
  // Results that are not needed are left out.
  if (run.skipped == Operand::kA && options.op == Operation::kInputGrad)
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (data.needed[static_cast<std::int64_t>(i)] == 0.0F) sum[i] = magnitude[i] = 0;
  // Winograd's sums are of transformed operands: an element's error depends on its neighbours.
  const bool transforms = is_winograd(options.impl) || options.impl == Impl::kDenseAuto;
  const double floor = transforms ? tolerance * *std::max_element(magnitude.begin(), magnitude.end()) : 0;
  for (std::size_t i = 0; i < sum.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - sum[i]), tolerance * magnitude[i] + floor + 1e-30)
        << name_of(shape, options, plan, zeros) << " seed " << seed << " element " << i << " got " << got[i]
        << " wants " << sum[i];
}

}  // namespace lacuna::kernels
