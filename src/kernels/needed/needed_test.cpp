// Input gradients where the input is not zero: against the reference, and the choice of a plan that may leave
// results out.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "base/testing.hpp"
#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

ConvOptions needed_options(const std::string& isa = "") {
  ConvOptions o;
  o.op = Operation::kInputGrad;
  o.checked = Operand::kA;
  o.impl = Impl{"needed"};
  o.isa = isa;
  return o;
}

class NeededOnEachIsa : public EachInstructionSet {};

TEST_P(NeededOnEachIsa, MatchesReferenceOnEveryShape) {
  std::vector<Case> all = cases();
  all.push_back({2, 17, 300, {9, 11}, {1, 1}});                           // several parts of channels
  all.push_back({9, 5, 70, {5, 5}, {3, 3}, {1, 1}, {1, 1}});              // tiles of several images
  all.push_back({1, 4, 4, {2, 700}, {3, 3}, {1, 1}, {1, 1}});             // tiles of part of a row
  all.push_back({1, 5, 6, {40, 45}, {3, 3}, {1, 1}, {7, 5}, {9, 12}});    // more halo than tile
  all.push_back({2, 64, 96, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2});  // groups of whole blocks
  std::uint64_t seed = 1;
  for (const Case& c : all) {
    const LayerShape shape = c.shape();
    if (shape.stride != Size2{1, 1} || !fills_blocks(shape)) continue;
    for (const double zeros : {0.0, 0.4, 0.8, 0.95, 1.0}) {
      if (shape.macs() > 500'000 && zeros != 0.8) continue;  // the reference is slow
      ConvOptions o = needed_options(GetParam());
      o.layout = std::array{Layout::kNchw, Layout::kNhwc, Layout::kBlocked}[++seed % 3];
      o.weights = seed % 2 == 0 ? WeightLayout::kPacked : WeightLayout::kOihw;
      o.threads = static_cast<int>(seed % 5 % 3 + 1);
      check_against_reference(shape, o, zeros, seed);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Needed, NeededOnEachIsa, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

const LayerShape kNeededShape = LayerShape::conv2d(5, 40, 70, {11, 13}, {3, 3}, {1, 1}, {1, 1});

std::vector<float> result_of(const ConvOptions& options) {
  ConvPlan plan(kNeededShape, options);
  PlanTensors data(plan);
  data.fill(plan, 0.7, 3);
  plan.run(data.tensors());
  return {data.src.data(), data.src.data() + data.src.size()};
}

TEST(Needed, BitsDoNotDependOnThreads) {
  ConvOptions o = needed_options();
  const std::vector<float> one = result_of(o);
  for (const int threads : {2, 3, 8}) {
    o.threads = threads;
    EXPECT_EQ(result_of(o), one) << threads;
  }
}

// NaN and infinity count as values that are not zero, -0.0 as zero; results there are as anywhere else.
TEST(Needed, EveryValueThatIsNotZeroIsNeeded) {
  ConvPlan plan(kNeededShape, needed_options());
  PlanTensors data(plan);
  data.fill(plan, 0, 3);
  plan.run(data.tensors());
  const float dense[] = {data.src[0], data.src[1], data.src[2], data.src[3]};
  data.needed[0] = std::numeric_limits<float>::quiet_NaN();
  data.needed[1] = std::numeric_limits<float>::infinity();
  data.needed[2] = std::numeric_limits<float>::denorm_min();
  data.needed[3] = -0.0F;
  plan.run(data.tensors());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(data.src[i], dense[i]);
  EXPECT_EQ(data.src[3], 0.0F);
  EXPECT_NE(dense[3], 0.0F);
}

// Zeros of A and of G, and what a plan that may use either skips.
std::optional<Operand> skipped(Impl impl, double of_a, double of_g) {
  const LayerShape shape = LayerShape::conv2d(2, 64, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1});
  ConvOptions o;
  o.op = Operation::kInputGrad;
  o.impl = impl;
  o.or_needed = true;
  o.layout = Layout::kBlocked;
  ConvPlan plan(shape, o);
  PlanTensors data(plan);
  data.fill(plan, of_g, 3);
  for (std::int64_t i = 0; i < data.needed.size(); ++i)
    if (static_cast<double>(i * 7919 % 1000) < 1000 * of_a) data.needed[i] = 0;
  const ConvRun done = plan.run(data.tensors());
  // Whatever was skipped, results that are needed are right.
  ConvOptions dense = o;
  dense.impl = Impl::kDenseDirect;
  ConvPlan reference(shape, dense);
  PlanTensors twin(reference);
  twin.fill(reference, of_g, 3);
  reference.run(twin.tensors());
  for (std::int64_t i = 0; i < data.src.size(); ++i)
    if (data.needed[i] != 0) {
      EXPECT_NEAR(data.src[i], twin.src[i], 1e-4) << i;
      if (testing::Test::HasFailure()) break;
    } else if (done.skipped == Operand::kA) {
      EXPECT_EQ(data.src[i], 0.0F) << i;
      if (testing::Test::HasFailure()) break;
    }
  return done.skipped;
}

TEST(Needed, ThePlanSkipsWhereThereIsMore) {
  EXPECT_EQ(skipped(Impl::kSparse, 0.9, 0.2), Operand::kA);
  EXPECT_EQ(skipped(Impl::kSparse, 0.3, 0.6), Operand::kG);
  const std::string folder = testing::TempDir() + "lacuna_needed_cache";
  ASSERT_EQ(setenv("LACUNA_CACHE_DIR", folder.c_str(), 1), 0);
  if (runs_sanitized()) return;  // sanitized, either may be slower than oneDNN
  EXPECT_EQ(skipped(Impl::kAuto, 0.97, 0), Operand::kA);
  EXPECT_EQ(skipped(Impl::kAuto, 0, 0.97), Operand::kG);
  EXPECT_EQ(skipped(Impl::kAuto, 0, 0), std::nullopt);
}

TEST(Needed, RefusesWhatCannotBe) {
  const auto code = [](ConvOptions o, const LayerShape& shape) {
    try {
      ConvPlan plan(shape, o);
    } catch (const ConvError& error) {
      return static_cast<int>(error.code());
    }
    return -1;
  };
  const LayerShape strided = LayerShape::conv2d(1, 16, 16, {9, 9}, {3, 3}, {2, 2}, {1, 1});
  EXPECT_EQ(code(needed_options(), strided), static_cast<int>(ConvError::Code::kShape));
  const LayerShape wide = LayerShape::conv2d(1, 16, 16, {600, 600}, {3, 3}, {1, 1}, {0, 0}, {290, 290});
  EXPECT_EQ(code(needed_options(), wide), static_cast<int>(ConvError::Code::kShape));
  ConvOptions o = needed_options();
  o.checked = Operand::kG;
  EXPECT_EQ(code(o, kNeededShape), static_cast<int>(ConvError::Code::kOption));
  o = needed_options();
  o.impl = Impl{"pixel"};
  EXPECT_EQ(code(o, kNeededShape), static_cast<int>(ConvError::Code::kOption));
  o.op = Operation::kForward;
  o.checked = Operand::kA;
  o.or_needed = true;
  EXPECT_EQ(code(o, kNeededShape), static_cast<int>(ConvError::Code::kOption));

  ConvPlan plan(kNeededShape, needed_options());
  PlanTensors data(plan);
  data.fill(plan, 0.5, 1);
  ConvTensors t = data.tensors();
  t.src = nullptr;
  EXPECT_THROW(plan.run(t), ConvError);
}

}  // namespace
}  // namespace lacuna::kernels
