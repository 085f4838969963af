// TensorDash on random zeros.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

constexpr int kSamples = 10;  // [TensorDash §4.4]: "10 samples of inputs"
const char* const kRandomRows[] = {"1", "4"};

std::string random_source(int tenths, int sample) { return fmt::format("random:0.{}:{}", tenths, sample); }

Settings rows_settings(const char* rows) { return {{"tiles", "1"}, {"rows", rows}}; }

FigureResult make_fig20(const FigureInputs& in) {
  FigureTable table{.id = "speedup",
                    .title = "Speedup by share of random zeros, mean of 10 samples",
                    .row_title = "zeros",
                    .unit = "x",
                    .chart = Chart::kLinesByColumn};
  FigureTable deviation{.id = "deviation",
                        .title = "Largest deviation of a sample from the mean",
                        .row_title = "rows per tile",
                        .unit = "%",
                        .chart = Chart::kNone};
  for (const char* rows : kRandomRows) {
    double largest = 0;
    for (int tenths = 1; tenths <= 9; ++tenths) {
      const std::string row = fmt::format("{} %", 10 * tenths);
      std::array<double, 4> sums{};
      std::vector<double> samples;
      for (int sample = 1; sample <= kSamples; ++sample) {
        const Totals& totals =
            in.runs.run(random_source(tenths, sample), "tensordash", rows_settings(rows)).batch;
        for (std::size_t op = 0; op < 3; ++op) sums[op] += totals.of(kOperations[op]).speedup() / kSamples;
        sums[3] += totals.all.speedup() / kSamples;
        samples.push_back(totals.all.speedup());
      }
      for (const double sample : samples) largest = std::max(largest, std::abs(sample / sums[3] - 1));
      const std::string suffix = fmt::format(", {} row{}", rows, rows == std::string("1") ? "" : "s");
      for (std::size_t op = 0; op < 3; ++op)
        table.set(row, kOperationTitles[kOperations[op]] + suffix, sums[op]);
      // The paper does not say how many rows; one row comes nearer.
      const bool compared = tenths == 1 || tenths == 9;
      table.set(row, "all" + suffix, sums[3], compared ? fmt::format("fig20.{}", 10 * tenths) : "",
                {"rows that wait for each other lose some of it; the paper does not say how many it has here",
                 {"A4"}});
    }
    deviation.set(rows, "deviation", 100 * largest, "fig20.deviation");
  }
  return {{table, deviation},
          {"DenseNet-121's third convolution: 3x3, 128 to 32 channels, 56x56. Zeros in A and G, none in W. "
           "At most 3x is "
           "possible: three steps drain per cycle."}};
}

}  // namespace

std::vector<Figure> tensordash_random_figures() {
  Figure fig20{.id = "fig20",
               .title = "Speedup of TensorDash on random zeros",
               .paper = "tensordash",
               .place = "Fig. 20, section 4.4",
               .make = make_fig20};
  for (int tenths = 1; tenths <= 9; ++tenths) {
    for (int sample = 1; sample <= kSamples; ++sample) {
      for (const char* rows : kRandomRows)
        fig20.runs.push_back({random_source(tenths, sample), "tensordash", rows_settings(rows)});
    }
  }
  return {fig20};
}

}  // namespace lacuna::reproduce
