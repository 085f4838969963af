// Zeros of both operands on TensorDash, which the paper leaves for future work.
#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

FigureResult make_two_side(const FigureInputs& in) {
  std::vector<Variant> variants;
  for (const auto op : kOperationsAndAll) {
    const std::string title = operation_title(op);
    variants.push_back({title + ", one", "tensordash", {{"tiles", "1"}}, op});
    variants.push_back({title + ", both", "tensordash-two-side", {{"tiles", "1"}}, op});
  }
  // Traces that an engine with one scheduler per PE simulates in seconds, and one trained with sparse
  // operands on both sides.
  return {
      {by_trace(in.runs,
                {.id = "speedup",
                 .title = "Speedup with the zeros of one and of both operands, one tile",
                 .row_title = "trace",
                 .unit = "x"},
                {"alexnet_p100", "squeezenet_p100", "resnet50_SM90_series_p100", "resnet50_DS90_series_p100",
                 "snli_p100", "resnet18_cifar_swat90_p100"},
                speedup_columns(in.runs, variants))},
      {"Future work in the paper, which measures nothing. One scheduler per PE sees the zeros of both "
       "operands; the PEs of a tile still slide together (A4), which costs more the more PEs there are."}};
}

}  // namespace

std::vector<Figure> tensordash_two_side_figures() {
  return {{"two-side", "Zeros of both operands (the paper's future work)", "tensordash", "section 2",
           make_two_side}};
}

}  // namespace lacuna::reproduce
