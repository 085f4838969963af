// Channels-last tensors of whole blocks, which the kernels take without a copy, and weights in PyTorch's
// channels-last order.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

// Each kernel, one and several blocks, groups, rows around the unrolled steps; and mixed, where one side has
// whole blocks and the other has not.
const Case kCases[] = {{3, 32, 48, {7, 9}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 80, 16, {5, 17}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 64, 32, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
                       {2, 32, 160, {9, 8}, {3, 3}, {2, 2}, {1, 1}},
                       {2, 48, 32, {9, 10}, {1, 1}},
                       {2, 16, 32, {9, 10}, {1, 1}, {2, 2}},
                       {2, 17, 32, {6, 8}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 32, 20, {6, 8}, {3, 3}, {1, 1}, {1, 1}},
                       {40, 64, 48, {1, 1}, {1, 1}}};

TEST(ChannelsLast, EachIsaMatchesTheReference) {
  std::uint64_t seed = 1;
  for (const char* isa : {"avx512", "avx2", "portable"}) {
    if (!isa_available(isa_named(isa).value())) continue;
    for (const Case& c : kCases)
      for (const Operation op : kOperations)
        for (const bool by_gradients : {false, true}) {
          if (by_gradients && op != Operation::kWeightGrad) continue;
          ConvOptions o;
          o.op = op;
          o.impl = Impl::kSparse;
          o.layout = Layout::kNhwc;
          o.isa = isa;
          o.threads = ++seed % 3 == 0 ? 2 : 1;
          o.bias = o.relu = op == Operation::kForward && seed % 2 == 0;
          if (op == Operation::kWeightGrad) o.checked = by_gradients ? Operand::kG : Operand::kA;
          check_against_reference(c.shape(), o, 0.5, seed);
          if (HasFatalFailure()) return;
        }
  }
}

// A tensor that does not begin at a multiple of 64 bytes.
struct Shifted {
  explicit Shifted(const AlignedFloats& from) : memory(from.size() + 16) {
    std::copy(from.data(), from.data() + from.size(), data());
  }
  float* data() { return memory.data() + 3; }
  AlignedFloats memory;
};

// Zeros in the weights: the same bits as on blocked tensors, wherever the tensors begin.
TEST(ChannelsLast, PrunedEqualsBlocked) {
  std::uint64_t seed = 90;
  for (const Case& c : kCases)
    for (const Operation op : kOperations) {
      const LayerShape shape = c.shape();
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kSparse;
      o.checked = Operand::kW;
      o.threads = ++seed % 3 == 0 ? 2 : 1;
      std::vector<std::vector<float>> results;
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        o.layout = layout;
        ConvPlan plan(shape, o);
        PlanTensors data(plan);
        data.fill(plan, 0.8, seed);
        Shifted src(data.src), dst(data.dst);
        ConvTensors t = data.tensors();
        t.src = t.diff_src = src.data();
        t.dst = dst.data();
        t.diff_dst = dst.data();
        plan.run(t);
        const bool forward = op == Operation::kForward;
        if (op == Operation::kWeightGrad) {
          results.emplace_back(data.weights.data(), data.weights.data() + data.weights.size());
          continue;
        }
        const std::int64_t channels = forward ? shape.k : shape.c;
        const std::int64_t pixels = (forward ? data.dst : data.src).size() / (shape.n * channels);
        const float* got = forward ? dst.data() : src.data();
        std::vector<float>& nchw = results.emplace_back();
        for (std::int64_t n = 0; n < shape.n; ++n)
          for (std::int64_t k = 0; k < channels; ++k)
            for (std::int64_t p = 0; p < pixels; ++p)
              nchw.push_back(layout == Layout::kNchw ? got[(n * channels + k) * pixels + p]
                                                     : got[(n * pixels + p) * channels + k]);
      }
      ASSERT_EQ(results[0], results[1]) << shape.describe() << " " << operation_name(op);
    }
}

// Results that no cache holds are written around them.
TEST(ChannelsLast, LargeResultsEqualBlocked) {
  const LayerShape shape = LayerShape::conv2d(1, 16, 512, {92, 92}, {3, 3}, {1, 1}, {1, 1});
  ConvOptions o;
  o.impl = Impl::kSparse;
  o.layout = Layout::kNhwc;
  ConvPlan plan(shape, o);
  PlanTensors data(plan);
  data.fill(plan, 0.9, 4);
  plan.run(data.tensors());
  o.layout = Layout::kBlocked;
  ConvPlan blocked(shape, o);
  PlanTensors same(blocked);
  same.fill(blocked, 0.9, 4);
  blocked.run(same.tensors());
  const std::int64_t pixels = 92 * 92;
  std::int64_t different = 0;
  for (std::int64_t p = 0; p < pixels; ++p)
    for (std::int64_t k = 0; k < 512; ++k)
      different += data.dst[p * 512 + k] != same.dst[(k / 16 * pixels + p) * 16 + k % 16] ? 1 : 0;
  EXPECT_EQ(different, 0);
}

std::vector<float> to_ohwi(const LayerShape& s, const float* oihw) {
  std::vector<float> moved(static_cast<std::size_t>(s.w_elements()));
  for (std::int64_t k = 0; k < s.k; ++k)
    for (std::int64_t c = 0; c < s.c_per_group(); ++c)
      for (std::int64_t tap = 0; tap < s.taps(); ++tap)
        moved[static_cast<std::size_t>((k * s.taps() + tap) * s.c_per_group() + c)] =
            oihw[(k * s.c_per_group() + c) * s.taps() + tap];
  return moved;
}

TEST(ChannelsLast, OrderOfWeightsAndAlignmentDoNotChangeTheResult) {
  std::uint64_t seed = 50;
  for (const Case& c : kCases)
    for (const Operation op : kOperations)
      for (const auto& [impl, skips_weights] : {std::pair{Impl::kSparse, false},
                                                {Impl::kSparse, true},
                                                {Impl::kDenseDirect, false},
                                                {Impl::kWinograd4x4, false}}) {
        const LayerShape shape = c.shape();
        ConvOptions o;
        o.op = op;
        o.impl = impl;
        if (skips_weights) o.checked = Operand::kW;
        o.layout = Layout::kNhwc;
        const ConvImplementation* named = find_implementation(impl);
        if (named != nullptr && try_make(*named, KernelConfig(shape, o)) == nullptr) continue;
        ConvPlan plan(shape, o);
        PlanTensors data(plan);
        data.fill(plan, 0.5, ++seed);
        plan.run(data.tensors());

        o.weights = WeightLayout::kOhwi;
        ConvPlan other(shape, o);
        Shifted src(data.src), dst(data.dst);
        std::vector<float> weights = to_ohwi(shape, data.weights.data());
        const std::vector<float> plain = to_ohwi(shape, data.plain_weights.data());
        ConvTensors t;
        t.src = t.diff_src = src.data();
        t.dst = dst.data();
        t.diff_dst = dst.data();
        t.weights = op == Operation::kWeightGrad ? plain.data() : weights.data();
        t.diff_weights = weights.data();
        AlignedFloats& wanted = data.result();
        const std::vector<float> want =
            op == Operation::kWeightGrad ? to_ohwi(shape, wanted.data())
                                         : std::vector<float>(wanted.data(), wanted.data() + wanted.size());
        float* got = op == Operation::kForward     ? dst.data()
                     : op == Operation::kInputGrad ? src.data()
                                                   : weights.data();
        std::fill(got, got + want.size(), -1.0F);
        other.run(t);
        // oneDNN may take another way from other memory, and the lists of weights have another order.
        const bool same_sums = impl != Impl::kDenseDirect && !skips_weights;
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(got[i], want[i], same_sums ? 0 : 1e-3)
              << name_of(shape, o, other, 0.5) << " seed " << seed << " element " << i;
      }
}

}  // namespace
}  // namespace lacuna::kernels
