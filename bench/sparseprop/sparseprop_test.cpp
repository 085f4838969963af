// SparseProp's algorithm, as it is timed, computes what the double-precision reference computes.
#include "sparseprop/sparseprop.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kernels/testing/reference_check.hpp"

namespace lacuna::sparseprop {
namespace {

// The operation on plain tensors, by the reference.
struct Expected {
  Expected(const LayerShape& shape, Operation op, const float* weights)
      : plan(shape, options(op)), data(plan) {
    data.fill(plan, 0.8, 3);
    if (weights != nullptr) std::copy_n(weights, shape.w_elements(), data.plain_weights.data());
    if (op != Operation::kWeightGrad)
      std::copy_n(data.plain_weights.data(), shape.w_elements(), data.weights.data());
    const kernels::RefConv reference(shape, options(op));
    sum.resize(static_cast<std::size_t>(reference.result_size()));
    magnitude.resize(sum.size());
    kernels::ConvTensors tensors = data.tensors();
    tensors.bias = nullptr;
    reference.run(tensors, sum.data(), magnitude.data());
  }
  static kernels::ConvOptions options(Operation op) {
    kernels::ConvOptions o;
    o.op = op;
    o.checked = Operand::kW;
    o.impl = kernels::Impl::kReference;
    return o;
  }
  kernels::ConvPlan plan;
  kernels::PlanTensors data;
  std::vector<double> sum, magnitude;
};

// A plain tensor with the batch innermost, where element `i` of it comes from.
std::int64_t plain(std::int64_t i, std::int64_t n, std::int64_t size) { return i % n * (size / n) + i / n; }

std::vector<float> innermost(const kernels::AlignedFloats& from, std::int64_t n) {
  std::vector<float> to(static_cast<std::size_t>(from.size()));
  for (std::int64_t i = 0; i < from.size(); ++i)
    to[static_cast<std::size_t>(i)] = from[plain(i, n, from.size())];
  return to;
}

void expect_tensor(const std::vector<float>& result, std::int64_t n, const Expected& expected,
                   const std::string& where) {
  ASSERT_EQ(result.size(), expected.sum.size());
  const auto size = static_cast<std::int64_t>(result.size());
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(plain(i, n, size));
    ASSERT_LE(std::fabs(result[static_cast<std::size_t>(i)] - expected.sum[at]),
              kernels::kTolerance * expected.magnitude[at] + 1e-30)
        << where << " element " << i;
  }
}

void check(const LayerShape& shape, const Loops& loops, Order order) {
  const std::string where = shape.describe() + " " + loops.isa;
  const Expected forward(shape, Operation::kForward, nullptr);
  const float* weights = forward.data.plain_weights.data();
  SparseProp theirs(shape, weights, loops, order);
  std::vector<float> result(static_cast<std::size_t>(theirs.result_floats()), NAN);
  theirs.forward(innermost(forward.data.src, shape.n).data(), result.data());
  expect_tensor(result, shape.n, forward, where + " forward");

  const Expected input_grad(shape, Operation::kInputGrad, weights);
  Expected weight_grad(shape, Operation::kWeightGrad, nullptr);
  std::vector<float> diff_input(static_cast<std::size_t>(theirs.input_floats()), NAN);
  std::vector<float> diff_weights(static_cast<std::size_t>(shape.w_elements()), NAN);
  const auto input = innermost(weight_grad.data.src, shape.n);
  theirs.backward(input.data(), innermost(input_grad.data.dst, shape.n).data(), diff_input.data(),
                  diff_weights.data());
  expect_tensor(diff_input, shape.n, input_grad, where + " input_grad");
  theirs.backward(input.data(), innermost(weight_grad.data.dst, shape.n).data(), diff_input.data(),
                  diff_weights.data());
  for (std::size_t i = 0; i < diff_weights.size(); ++i) {
    if (weights[i] == 0.0F) continue;
    ASSERT_LE(std::fabs(diff_weights[i] - weight_grad.sum[i]),
              kernels::kTolerance * weight_grad.magnitude[i] + 1e-30)
        << where << " weight_grad, weight " << i;
  }
}

TEST(SparseProp, ComputesWhatTheReferenceDoes) {
  const LayerShape shapes[] = {
      LayerShape::conv2d(16, 20, 19, {9, 7}, {1, 1}),
      LayerShape::conv2d(32, 5, 6, {20, 22}, {1, 1}),
      LayerShape::conv2d(16, 9, 8, {14, 20}, {3, 3}, {1, 1}, {1, 1}),  // several chunks
      LayerShape::conv2d(16, 6, 7, {11, 10}, {3, 3}, {2, 2}, {1, 1}),
      LayerShape::conv2d(16, 9, 8, {9, 8}, {1, 1}, {2, 2}),
      LayerShape::conv2d(16, 3, 4, {2, 1}, {5, 3}, {1, 2}, {2, 1})};
  for (const LayerShape& shape : shapes)
    for (const Order order : {Order::kPlanes, Order::kChunks}) {
      check(shape, kAvx2, order);
      if (best_isa() == Isa::kAvx512) check(shape, kAvx512, order);
      if (HasFatalFailure()) return;
    }
}

TEST(SparseProp, ConvertsLayouts) {
  if (best_isa() != Isa::kAvx512) GTEST_SKIP() << "needs AVX-512";
  kernels::AlignedFloats nchw(16 * 37);
  for (std::int64_t i = 0; i < nchw.size(); ++i) nchw[i] = static_cast<float>(i);
  const std::vector<float> expected = innermost(nchw, 16);
  std::vector<float> there(expected.size());
  std::vector<float> back(expected.size());
  to_innermost(nchw.data(), 37, there.data());
  EXPECT_EQ(there, expected);
  from_innermost(there.data(), 37, back.data());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), nchw.data()));
}

}  // namespace
}  // namespace lacuna::sparseprop
