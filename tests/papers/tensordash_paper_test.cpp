// What TensorDash gives on real training traces.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <tuple>

#include "sim/simulate.hpp"
#include "sim/testing/machines.hpp"
#include "trace/synthetic.hpp"
#include "traces/recorded_traces.hpp"

namespace lacuna {
namespace {

RunResult run(const Trace& trace, const testing::Settings& settings) {
  return simulate_trace(trace, *testing::make_machine("tensordash", settings), "tensordash", {}, 2);
}

// tests/data/tensordash/real_traces.csv: one tile, compute only, an independent program's speedups.
std::vector<CsvTable::Row> golden_rows() {
  std::ifstream file(LACUNA_SOURCE_DIR "/tests/data/tensordash/real_traces.csv");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return CsvTable::parse(text, "real_traces.csv").rows;
}

class RealTraces : public ::testing::TestWithParam<CsvTable::Row> {};

TEST_P(RealTraces, OneTileSpeedupsToThePrintedDigit) {
  const std::vector<std::string>& cells = GetParam().cells;
  const Trace trace = Trace::open(testing::shipped_trace(cells[0]));
  const Totals total = run(trace, {{"tiles", "1"}}).total();
  // Printed with two digits: half a unit of the last, and what is left of it in binary.
  constexpr double kHalfDigit = 0.005 + 1e-9;
  EXPECT_NEAR(total.forward.speedup(), std::stod(cells[1]), kHalfDigit);
  EXPECT_NEAR(total.input_grad.speedup(), std::stod(cells[2]), kHalfDigit);
  EXPECT_NEAR(total.weight_grad.speedup(), std::stod(cells[3]), kHalfDigit);
  EXPECT_NEAR(total.all.speedup(), std::stod(cells[4]), kHalfDigit);
}

INSTANTIATE_TEST_SUITE_P(Golden, RealTraces, ::testing::ValuesIn(golden_rows()),
                         [](const ::testing::TestParamInfo<CsvTable::Row>& row) {
                           return row.param.cells[0];
                         });

// [TensorDash §4.1, Fig. 13]: "it never slows down execution".
TEST(Figure13, NeverSlowerThanDenseOnAnyTrace) {
  for (const std::filesystem::path& path : testing::recorded_traces()) {
    const Trace trace = Trace::open(path);
    for (const char* tiles : {"1", "16"}) {
      for (const LayerResult& layer : run(trace, {{"tiles", tiles}}).layers) {
        for (const OpResult& op : layer.ops) {
          EXPECT_LE(op.cycles, op.dense_cycles) << path << " " << layer.name << " " << operation_name(op.op);
          EXPECT_LE(op.padding_free_cycles, op.dense_cycles) << path << " " << layer.name;
        }
      }
    }
  }
}

// An independent program: vgg16 by rows 1 / 4 / 16: 2.24 / 2.00 / 1.81; with depth 2: 1.65.
TEST(Figures17And19, Vgg16ByRowsAndDepth) {
  const Trace trace = Trace::open(testing::shipped_trace("vgg16_p100"));
  const auto speedup = [&](const testing::Settings& settings) {
    return run(trace, settings).total().all.speedup();
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
