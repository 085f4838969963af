#include "bench/training/whole_training.hpp"

#include <gtest/gtest.h>

namespace lacuna::bench {
namespace {

TEST(TrainingSpeedup, CurvesAreLinearBetweenPoints) {
  ZeroCurve curve;
  curve.add(0.5, 0.6);
  EXPECT_EQ(curve.at(0.9), 0.6);
  curve.add(0.9, 0.2);
  curve.add(0, 1.2);
  EXPECT_DOUBLE_EQ(curve.at(0.25), 0.9);
  EXPECT_DOUBLE_EQ(curve.at(0.5), 0.6);
  EXPECT_DOUBLE_EQ(curve.at(0.7), 0.4);
  EXPECT_DOUBLE_EQ(curve.at(1), 0.1);
  curve.add(0.99, 0.01);
  EXPECT_EQ(curve.at(1), 0);  // not below
  using Shares = std::vector<double>;
  const Shares grid = {0.9, 0, 0.2, 0.4, 0.2};
  EXPECT_EQ(covering_shares(grid, 0.25, 0.3), (Shares{0.2, 0.4}));
  EXPECT_EQ(covering_shares(grid, 0.2, 0.4), (Shares{0.2, 0.4}));
  EXPECT_EQ(covering_shares(grid, 0.1, 0.95), (Shares{0, 0.2, 0.4, 0.9}));
  EXPECT_EQ(covering_shares({0.5}, 0.1, 0.3), (Shares{0.5}));
}

TEST(TrainingSpeedup, SpeedupsAreRatiosOfWholeTrainings) {
  ZeroCurve curve;  // 1.2 at 0 % zeros, 0 at 100 %
  curve.add(0, 1.2);
  curve.add(1, 0);
  const std::vector<TrainingPart> parts = {{Operation::kForward, 10, {0, 0.5}, curve},
                                           {Operation::kInputGrad, 10, {}, {}},
                                           {Operation::kWeightGrad, 20, {0.5, 0.5}, curve}};
  const TrainingSpeedup result = training_speedup(parts, 2);
  EXPECT_DOUBLE_EQ(result.training.always, 80 / (12 + 6 + 20 + 24.0));
  EXPECT_DOUBLE_EQ(result.training.chosen, 80 / (10 + 6 + 20 + 24.0));
  EXPECT_DOUBLE_EQ(result.operations[Operation::kForward].always, 20 / 18.0);
  EXPECT_DOUBLE_EQ(result.operations[Operation::kInputGrad].always, 1);
  EXPECT_DOUBLE_EQ(result.inference.always, 10 / 6.0);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(result.epochs[0], 40 / 32.0);
}

}  // namespace
}  // namespace lacuna::bench
