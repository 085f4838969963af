// Zeros of both operands on TensorDash, which the paper leaves for future work.
#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

// Those that an engine with one scheduler per PE gets through in seconds, and one trained with sparse
// operands on both sides.
const std::vector<std::string>& two_side_traces() {
  static const std::vector<std::string> kTraces{
      "alexnet_p100", "squeezenet_p100",           "resnet50_SM90_series_p100", "resnet50_DS90_series_p100",
      "snli_p100",    "resnet18_cifar_swat90_p100"};
  return kTraces;
}

const Settings kTile{{"tiles", "1"}};

FigureResult make_two_side(const FigureInputs& in) {
  FigureTable table{.id = "speedup",
                    .title = "Speedup with the zeros of one and of both operands, one tile",
                    .row_title = "trace",
                    .unit = "x"};
  for (const std::string& trace : two_side_traces()) {
    const Run& one = in.runs.run(trace, "tensordash", kTile);
    const Run& both = in.runs.run(trace, "tensordash-two-side", kTile);
    for (const Operation op : kOperations) {
      const std::string title = kOperationTitles[op];
      table.set(trace, title + ", one", one.batch.of(op).speedup());
      table.set(trace, title + ", both", both.batch.of(op).speedup());
    }
    table.set(trace, "all, one", one.batch.all.speedup());
    table.set(trace, "all, both", both.batch.all.speedup(), "two_side");
  }
  return {{table},
          {"One scheduler per PE sees the zeros of both operands; the PEs of a tile still slide together "
           "(A4), which costs more "
           "the more PEs there are."}};
}

}  // namespace

std::vector<Figure> tensordash_two_side_figures() {
  Figure figure{.id = "two-side",
                .title = "Zeros of both operands (the paper's future work)",
                .paper = "tensordash",
                .place = "section 2",
                .make = make_two_side};
  for (const std::string& trace : two_side_traces()) {
    figure.runs.push_back({trace, "tensordash", kTile});
    figure.runs.push_back({trace, "tensordash-two-side", kTile});
  }
  return {figure};
}

}  // namespace lacuna::reproduce
