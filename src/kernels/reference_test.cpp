// Every kernel against the double-precision reference.
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kernels/conv_kernel.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

// Alternates plain layouts, bias and ReLU.
void vary(ConvOptions& o, std::uint64_t seed) {
  o.layout = seed % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
  o.bias = o.op == Operation::kForward && seed % 4 < 2;
  o.relu = o.op == Operation::kForward && seed % 5 < 2;
}

const double kShares[] = {0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999, 1};

class EachIsa : public EachInstructionSet {};

TEST_P(EachIsa, MatchesReferenceOnEveryShape) {
  std::uint64_t seed = 1;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kSparse;
      o.isa = GetParam();
      vary(o, ++seed);
      o.threads = seed % 7 == 0 ? 3 : seed % 5 == 0 ? 2 : 1;
      check_against_reference(c.shape(), o, 0.5, seed);
      if (HasFatalFailure()) return;
      if (op == Operation::kWeightGrad) {
        o.checked = Operand::kG;
        check_against_reference(c.shape(), o, 0.6, seed);
        if (HasFatalFailure()) return;
      }
    }
}

TEST_P(EachIsa, MatchesReferenceAtEveryShareOfZeros) {
  const Case some[] = {{2, 70, 34, {9, 15}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 70, 34, {7, 7}, {3, 3}, {1, 1}, {1, 1}},
                       {2, 33, 150, {9, 10}, {1, 1}},
                       {2, 33, 50, {9, 10}, {3, 3}, {2, 2}, {1, 1}}};
  std::uint64_t seed = 100;
  for (const Case& c : some)
    for (const double zeros : kShares)
      for (const Operation op : kOperations) {
        ConvOptions o;
        o.op = op;
        o.impl = Impl::kSparse;
        o.isa = GetParam();
        o.layout = Layout::kBlocked;
        o.weights = ++seed % 2 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
        o.threads = seed % 5 == 0 ? 2 : 1;
        if (op == Operation::kWeightGrad && seed % 3 == 0) o.checked = Operand::kG;
        check_against_reference(c.shape(), o, zeros, seed);
        if (HasFatalFailure()) return;
      }
}

// Few zeros: kernels that take neighbouring pixels together do so, in rows of every width.
TEST_P(EachIsa, MatchesReferenceWhereNeighboursAreNonZero) {
  std::uint64_t seed = 300;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      if (c.kernel != Size2{3, 3} || c.stride != Size2{1, 1}) continue;
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kSparse;
      o.isa = GetParam();
      vary(o, ++seed);
      o.threads = seed % 7 == 0 ? 3 : 1;
      if (op == Operation::kWeightGrad && seed % 2 == 0) o.checked = Operand::kG;
      check_against_reference(c.shape(), o, seed % 3 == 0 ? 0.3 : 0.1, seed);
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachIsa, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

// Each implementation of the list alone, on every shape that it supports: a slower one is tested on shapes
// for which a plan would choose a faster one.
class EachImplementation : public testing::TestWithParam<const ConvImplementation*> {
 protected:
  // Winograd transforms its operands, which costs digits (docs/models/sparsetrain.md), and bfloat16 rounds
  // them: half a unit in the last of 8 bits for each.
  static double tolerance() {
    if (GetParam()->impl() == Impl::kBfloat16) return 3 / 256.0;
    const bool transforms = is_winograd(GetParam()->impl()) || GetParam()->impl() == Impl::kDenseAuto;
    return transforms ? 1e-5 : kTolerance;
  }
};

TEST_P(EachImplementation, MatchesReferenceOnEveryShape) {
  const ConvImplementation& one = *GetParam();
  std::uint64_t seed = 2000;
  int runs = 0;
  for (const Case& c : cases())
    for (const Operation op : kOperations)
      for (const Isa isa : kIsas) {
        ConvOptions o;
        o.op = op;
        o.impl = one.impl();
        o.isa = isa_name(isa);
        if (!isa_available(isa) || c.shape().macs() > 500'000) continue;
        const bool one_isa =
            one.skips == Skips::kNothing && one.impl() != Impl::kBfloat16 && one.impl() != Impl::kWinograd4x4;
        if (one_isa && isa != best_isa()) continue;
        vary(o, ++seed);
        if (one.impl() == Impl::kBfloat16 || one.impl() == Impl::kDense1x1) o.layout = Layout::kBlocked;
        if (one.skips == Skips::kWeights) o.checked = Operand::kW;
        if (one.skips == Skips::kResults && op == Operation::kInputGrad) o.checked = Operand::kA;
        if (one.skips == Skips::kChecked && op == Operation::kWeightGrad && seed % 2 == 0)
          o.checked = Operand::kG;
        if (try_make(one, KernelConfig(c.shape(), o)) == nullptr) continue;
        ++runs;
        o.threads = static_cast<int>(seed % 3 + 1);
        check_against_reference(c.shape(), o, 0.5, seed, tolerance());
        if (HasFatalFailure()) return;
      }
  const bool needs_avx512 = one.impl() == Impl::kSparseTrain || one.impl() == Impl::kDense1x1;
  EXPECT_TRUE(runs > 0 || (needs_avx512 && !isa_available(Isa::kAvx512)));
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachImplementation, testing::ValuesIn(conv_implementations()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST(Kernels, NamesOfImplementations) {
  for (const ImplDescription& one : describe_impls()) EXPECT_EQ(impl_named(one.impl.name), one.impl);
  EXPECT_EQ(describe_impls().size(), conv_implementations().size() + 2);
  EXPECT_EQ(impl_named("fastest"), std::nullopt);
  ConvOptions o;
  o.impl = Impl{"fastest"};
  EXPECT_THROW(ConvPlan(LayerShape::linear(1, 2, 3), o), ConvError);
  o.impl = Impl{"window"};  // only 3x3
  EXPECT_THROW(ConvPlan(LayerShape::linear(1, 2, 3), o), ConvError);
}

TEST(Kernels, DenseMatchesReference) {
  std::uint64_t seed = 1000;
  for (const Case& c : cases())
    for (const Operation op : kOperations) {
      ConvOptions o;
      o.op = op;
      o.impl = Impl::kDenseDirect;
      vary(o, ++seed);
      o.weights = seed % 3 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
      check_against_reference(c.shape(), o, 0.5, seed);
      if (HasFatalFailure()) return;
    }
}

// Winograd transforms its operands, which costs digits (docs/models/sparsetrain.md).
TEST(Kernels, OtherAlgorithmsOfOneDnnMatchReference) {
  int run = 0;
  for (const LayerShape& shape : {LayerShape::conv2d(2, 32, 32, {14, 14}, {3, 3}, {1, 1}, {1, 1}),
                                  LayerShape::conv2d(1, 16, 32, {9, 10}, {1, 1}),
                                  LayerShape::conv2d(1, 3, 17, {9, 10}, {5, 5}, {2, 2}, {2, 2})})
    for (const Operation op : kOperations)
      for (const Impl impl : {Impl::kDenseWinograd, Impl::kDenseGemm})
        for (const Layout layout : {Layout::kNchw, Layout::kBlocked}) {
          ConvOptions o;
          o.op = op;
          o.impl = impl;
          o.layout = layout;
          try {
            check_against_reference(shape, o, 0.5, 77, impl == Impl::kDenseWinograd ? 1e-5 : kTolerance);
            ++run;
          } catch (const ConvError& error) {  // not for this shape, or on this CPU
            EXPECT_EQ(error.code(), ConvError::Code::kShape);
          }
        }
  EXPECT_GT(run, 0);
}

TEST(Kernels, ReferenceImplementationRuns) {
  const LayerShape shape = LayerShape::conv2d(1, 5, 6, {4, 5}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations) {
    ConvOptions o;
    o.op = op;
    o.impl = Impl::kReference;
    check_against_reference(shape, o, 0.5, 3);
  }
}

// Sums that are split into slices because there are more threads than units of work: many numbers of threads,
// shapes with few channels, fewer tiles than slices.
TEST(Kernels, SlicesOfSumsMatchTheReference) {
  std::uint64_t seed = 1000;
  for (const Case& c :
       {Case{7, 20, 33, {13, 15}, {3, 3}, {1, 1}, {1, 1}}, Case{1, 16, 16, {5, 5}, {3, 3}, {1, 1}, {1, 1}},
        Case{64, 16, 16, {3, 3}, {3, 3}, {1, 1}, {1, 1}}, Case{5, 30, 17, {20, 9}, {1, 1}},
        Case{200, 40, 50, {1, 1}, {1, 1}}, Case{3, 17, 18, {11, 12}, {3, 3}, {2, 2}, {1, 1}},
        Case{2, 64, 32, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2}})
    for (const Operand checked : {Operand::kA, Operand::kG})
      for (const int threads : {2, 3, 4, 7, 16, 33})
        for (const WeightLayout weights : {WeightLayout::kOihw, WeightLayout::kPacked}) {
          ConvOptions o;
          o.op = Operation::kWeightGrad;
          o.checked = checked;
          o.impl = Impl::kSparse;
          o.threads = threads;
          o.weights = weights;
          check_against_reference(c.shape(), o, 0.5, ++seed);
        }
}

// Groups that end inside a block: every implementation and layout, never an error.
TEST(Kernels, DepthwiseAndOddGroupsInAnyLayout) {
  std::uint64_t seed = 700;
  for (const LayerShape& shape : {LayerShape::conv2d(2, 20, 20, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 20),
                                  LayerShape::conv2d(1, 32, 32, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 32),
                                  LayerShape::conv2d(2, 40, 60, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2),
                                  LayerShape::conv2d(1, 32, 8, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2)})
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc, Layout::kBlocked})
      for (const Operation op : kOperations)
        for (const Impl impl : {Impl::kSparse, Impl::kAuto, Impl::kDenseDirect, Impl::kReference}) {
          ConvOptions o;
          o.op = op;
          o.impl = impl;
          o.layout = layout;
          o.bias = op == Operation::kForward;
          check_against_reference(shape, o, 0.4, ++seed);
          if (HasFatalFailure()) return;
        }
}

// Images stay plain while the features are blocked: every implementation, every operation.
TEST(Kernels, TheTwoTensorsMayHaveTwoLayouts) {
  const std::vector<Layout> layouts = {Layout::kNchw, Layout::kNhwc, Layout::kBlocked};
  std::uint64_t seed = 500;
  for (const LayerShape& shape :
       {LayerShape::conv2d(2, 3, 20, {9, 8}, {3, 3}, {2, 2}, {1, 1}),
        LayerShape::conv2d(1, 17, 16, {6, 6}, {3, 3}, {1, 1}, {1, 1}), LayerShape::linear(3, 19, 7)})
    for (const Layout src : layouts)
      for (const Layout dst : layouts)
        for (const Operation op : kOperations)
          for (const Impl impl : {Impl::kSparse, Impl::kDenseDirect, Impl::kReference}) {
            ConvOptions o;
            o.op = op;
            o.impl = impl;
            o.layout = dst;
            o.src_layout = src;
            o.bias = op == Operation::kForward;
            check_against_reference(shape, o, 0.4, ++seed);
          }
}

}  // namespace
}  // namespace lacuna::kernels
