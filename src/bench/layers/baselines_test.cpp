#include "bench/layers/baselines.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lacuna::bench {
namespace {

Case at(double zeros, double x_direct, double x_winograd) {
  Case c;
  c.network = "net";
  c.layer = "conv";
  c.wanted_zeros = zeros;
  c.result.zeros = zeros;
  c.result.rivals = {
      {"direct", x_direct, 1, 1, "d"}, {"winograd", x_winograd, 1, 1, "w"}, {"gemm", 0, 0, 0, ""}};
  return c;
}

TEST(Baselines, CrossoverIsLinearInTime) {
  // Times of 2, 1.5 and 0.5 of direct; Winograd is twice as fast as direct.
  const auto found = crossovers({at(0, 0.5, 0.25), at(0.4, 1 / 1.5, 0.5 / 1.5), at(0.8, 2, 1)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].direct, 0.6, 1e-9);
  EXPECT_NEAR(found[0].best, 0.8, 1e-9);
  EXPECT_NE(crossover_table(found, {}).find("60 %"), std::string::npos);
}

TEST(Baselines, FasterAlwaysOrNever) {
  const auto found = crossovers({at(0, 1.1, 0.5), at(0.9, 3, 0.9)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].direct, 0);
  EXPECT_EQ(found[0].best, -1);
  EXPECT_TRUE(crossovers({at(0.5, 1, 1)}).empty());  // one share says nothing
}

// Where auto runs a baseline, being a little faster or slower than it is noise.
TEST(Baselines, AutoCrossesWhereItBeginsToSkip) {
  std::vector<Case> cases = {at(0, 1.01, 1.02), at(0.4, 0.99, 1.01), at(0.6, 1.5, 1.4)};
  for (Case& c : cases) {
    c.impl = kernels::Impl::kAuto;
    c.result.used = kernels::Impl::kDenseDirect;
    c.result.skips_from = 0.47;
  }
  EXPECT_EQ(crossovers(cases)[0].direct, -1);
  cases[2].result.used = kernels::Impl::kSparse;
  EXPECT_EQ(crossovers(cases)[0].direct, 0.47);
  EXPECT_EQ(crossovers(cases)[0].best, 0.47);
  cases[2].result.rivals[1].ratio = 0.98;  // skipping, and slower than Winograd
  EXPECT_EQ(crossovers(cases)[0].best, -1);
}

TEST(Baselines, Names) {
  EXPECT_TRUE(parse_baselines({"direct"}).more.empty());
  EXPECT_EQ(parse_baselines({"best", "gemm"}).more.size(), 2U);
  EXPECT_THROW(parse_baselines({"fft"}), InputError);
}

}  // namespace
}  // namespace lacuna::bench
