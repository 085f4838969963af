// TensorDash on random zeros.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

constexpr int kSamples = 10;  // [TensorDash §4.4]: "10 samples of inputs"

FigureResult make_fig20(const FigureInputs& in) {
  FigureTable table{.id = "speedup",
                    .title = "Speedup by share of random zeros, mean of 10 samples",
                    .row_title = "zeros",
                    .unit = "x",
                    .chart = Chart::kLinesByColumn};
  FigureTable deviation{
      .id = "deviation",
      .title = "Largest deviation of a sample from the mean, and of an operation from all three",
      .row_title = "rows per tile",
      .unit = "%",
      .chart = Chart::kNone};
  for (const std::string rows : {"1", "4"}) {
    const std::string suffix = fmt::format(", {} row{}", rows, rows == "1" ? "" : "s");
    double largest = 0, of_operations = 0;
    for (int tenths = 1; tenths <= 9; ++tenths) {
      const std::string row = fmt::format("{} %", 10 * tenths);
      for (const auto op : kOperationsAndAll) {
        set_over_seeds(
            table, row, operation_title(op) + suffix,
            [&](int sample) {
              return speedup_of(in.runs, fmt::format("random:0.{}:{}", tenths, sample), "tensordash",
                                {{"tiles", "1"}, {"rows", rows}}, op);
            },
            kSamples);
      }
      const Cell& all = table.cells.back();
      largest = std::max({largest, all.range->high / all.ours - 1, 1 - all.range->low / all.ours});
      for (const Operation op : kOperations)
        of_operations =
            std::max(of_operations, std::abs(table.at(row, operation_title(op) + suffix) / all.ours - 1));
      if (tenths == 1 || tenths == 9) {
        table.compare(row, "all" + suffix, fmt::format("fig20.{}", 10 * tenths),
                      {"rows that wait for each other: one row gives the paper's number, which does not say "
                       "how many it has",
                       {"A4"},
                       {fmt::format("speedup/{}/all, 1 row", row)}});
      }
    }
    deviation.set(rows, "deviation", 100 * largest, "fig20.deviation")
        .set(rows, "operations", 100 * of_operations, "fig20.operations");
  }
  return {{table, deviation},
          {"DenseNet-121's third convolution: 3x3, 128 to 32 channels, 56x56. Zeros in A and G, none in W. "
           "At most 3x is possible: three steps drain per cycle."}};
}

}  // namespace

std::vector<Figure> tensordash_random_figures() {
  return {
      {"fig20", "Speedup of TensorDash on random zeros", "tensordash", "Fig. 20, section 4.4", make_fig20}};
}

}  // namespace lacuna::reproduce
