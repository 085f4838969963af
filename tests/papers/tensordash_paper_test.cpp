// What TensorDash gives on real training traces. The traces are not part of the repository, except two;
// without the others these tests are skipped.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <tuple>

#include "sim/simulate.hpp"
#include "sim/testing/machines.hpp"
#include "trace/synthetic.hpp"

namespace lacuna {
namespace {

std::optional<Trace> open_trace(const std::string& name) {
  for (const char* folder : {"/../shared/traces/", "/data/"}) {
    const std::string path = std::string(LACUNA_SOURCE_DIR) + folder + name + ".safetensors.zst";
    if (std::filesystem::exists(path)) return Trace::open(path);
  }
  return std::nullopt;
}

RunResult run(const Trace& trace, const testing::Settings& settings) {
  return simulate_trace(trace, *testing::make_machine("tensordash", settings), "tensordash", {}, 2);
}

// The table of real traces: one tile, compute only, an independent program's speedups to the printed digit.
struct TableRow {
  const char* model;
  double forward, input_grad, weight_grad, all;
};

class RealTraces : public ::testing::TestWithParam<TableRow> {};

TEST_P(RealTraces, OneTileSpeedupsToThePrintedDigit) {
  const TableRow& row = GetParam();
  const std::optional<Trace> trace = open_trace(std::string(row.model) + "_p100");
  if (!trace) GTEST_SKIP() << "no trace of " << row.model;
  const Totals total = run(*trace, {{"tiles", "1"}}).total();
  // Printed with two digits: half a unit of the last, and what is left of it in binary.
  constexpr double kHalfDigit = 0.005 + 1e-9;
  EXPECT_NEAR(total.forward.speedup(), row.forward, kHalfDigit);
  EXPECT_NEAR(total.input_grad.speedup(), row.input_grad, kHalfDigit);
  EXPECT_NEAR(total.weight_grad.speedup(), row.weight_grad, kHalfDigit);
  EXPECT_NEAR(total.all.speedup(), row.all, kHalfDigit);
}

INSTANTIATE_TEST_SUITE_P(
    Facts, RealTraces,
    ::testing::Values(TableRow{"alexnet", 2.24, 2.27, 2.09, 2.20}, TableRow{"vgg16", 1.82, 2.36, 1.89, 2.00},
                      TableRow{"squeezenet", 1.58, 1.78, 1.59, 1.64},
                      TableRow{"densenet121", 1.65, 1.01, 1.36, 1.31},
                      TableRow{"resnet50_SM90", 1.95, 1.79, 1.26, 1.61},
                      TableRow{"resnet50_DS90", 2.50, 2.48, 1.34, 1.93},
                      TableRow{"snli", 1.35, 1.15, 1.34, 1.28}, TableRow{"resnet50", 1.53, 1.01, 1.27, 1.25},
                      TableRow{"resnet18", 1.71, 1.02, 1.42, 1.36}, TableRow{"gcn", 1.00, 1.00, 1.00, 1.00}),
    [](const ::testing::TestParamInfo<TableRow>& row) { return row.param.model; });

// [TensorDash §4.1, Fig. 13]: "it never slows down execution".
TEST(Figure13, NeverSlowerThanDenseOnAnyTrace) {
  const std::filesystem::path folder = std::string(LACUNA_SOURCE_DIR) + "/../shared/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of traces";
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".zst") continue;
    ++traces;
    const Trace trace = Trace::open(entry.path());
    for (const char* tiles : {"1", "16"}) {
      for (const LayerResult& layer : run(trace, {{"tiles", tiles}}).layers) {
        for (const OpResult& op : layer.ops) {
          EXPECT_LE(op.cycles, op.dense_cycles)
              << entry.path() << " " << layer.name << " " << operation_name(op.op);
          EXPECT_LE(op.padding_free_cycles, op.dense_cycles) << entry.path() << " " << layer.name;
        }
      }
    }
  }
  EXPECT_GT(traces, 0);
}

// [Facts]: vgg16 by rows 1 / 4 / 16: 2.24 / 2.00 / 1.81; with depth 2: 1.65.
TEST(Figures17And19, Vgg16ByRowsAndDepth) {
  const std::optional<Trace> trace = open_trace("vgg16_p100");
  if (!trace) GTEST_SKIP() << "no trace of vgg16";
  const auto speedup = [&](const testing::Settings& settings) {
    return run(*trace, settings).total().all.speedup();
  };
  EXPECT_NEAR(speedup({{"tiles", "1"}, {"rows", "1"}}), 2.24, 0.005);
  EXPECT_NEAR(speedup({{"tiles", "1"}, {"rows", "4"}}), 2.00, 0.005);
  EXPECT_NEAR(speedup({{"tiles", "1"}, {"rows", "16"}}), 1.81, 0.005);
  EXPECT_NEAR(speedup({{"tiles", "1"}, {"depth", "2"}}), 1.65, 0.005);
}

// [TensorDash §4.4, Fig. 20]: random zeros in the shape of DenseNet-121's third convolution (3x3, 128 to 32
// channels): about 1.1x at 10 % and 2.95x at 90 %, never above 3x.
TEST(Figure20, RandomZeros) {
  for (const auto& [zeros, low, high] : {std::tuple{0.1, 1.05, 1.12}, std::tuple{0.9, 2.85, 3.0}}) {
    SyntheticSpec spec;
    spec.layers.push_back({"conv3", LayerShape::conv2d(1, 128, 32, {56, 56}, {3, 3}, {1, 1}, {1, 1}), 1,
                           ZeroSpec::uniform(zeros), ZeroSpec::dense(), ZeroSpec::uniform(zeros)});
    const double speedup = run(make_synthetic(spec), {{"tiles", "1"}}).total().all.speedup();
    EXPECT_GT(speedup, low) << zeros;
    EXPECT_LT(speedup, high) << zeros;
  }
}

}  // namespace
}  // namespace lacuna
