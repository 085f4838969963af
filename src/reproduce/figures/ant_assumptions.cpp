// Which assumption moves which network of ANT's evaluation, and where the abstract's 90 % may come from.
#include <fmt/format.h>

#include "reproduce/figures/ant_runs.hpp"

namespace lacuna::reproduce {
namespace {

struct AntChange {
  const char* title;
  Settings settings;
};

const std::vector<AntChange>& ant_changes() {
  static const std::vector<AntChange> kChanges{{"default", {}},
                                               {"fill per pair (O2)", {{"fill_scope", "pair"}}},
                                               {"mapping scnn-tiles (O1, O7)", {{"mapping", "scnn-tiles"}}},
                                               {"bank conflicts (O6)", {{"conflicts", "on"}}}};
  return kChanges;
}

constexpr int kSmallImages = 32;

// Sizes of images; 224 x 224 only where it takes seconds.
std::vector<int> image_sizes(const std::string& network) {
  if (network == "vgg16" || network == "wrn16_8") return {32, 64};
  return {32, 64, 224};
}

std::string moved_source(const std::string& trace) { return "moved:" + trace; }

FigureResult make_assumptions(const FigureInputs& in) {
  FigureTable changes{
      .id = "changes",
      .title = "Speedup over the SCNN-like machine with 90 % zeros at random, 32 x 32, one change at a time",
      .row_title = "network",
      .unit = "x"};
  FigureTable uneven{.id = "unevenness",
                     .title = "Speedup with zeros as recorded, and with as many moved anywhere in the tensor",
                     .row_title = "trace",
                     .unit = "x"};
  FigureTable share{.id = "redundant",
                    .title = "Redundant products by size of the images, 90 % zeros at random",
                    .row_title = "network",
                    .unit = "%",
                    .digits = 1};
  for (const AntNetwork& network : ant_networks()) {
    const std::string small = uniform_source(network.name, kSmallImages);
    for (const AntChange& change : ant_changes())
      changes.set(network.name, change.title, ant_numbers(in.runs, small, change.settings).speedup());
    for (const int size : image_sizes(network.name)) {
      const AntNumbers numbers = ant_numbers(in.runs, uniform_source(network.name, size));
      if (size != kSmallImages)
        changes.set(network.name, fmt::format("images of {0} x {0}", size), numbers.speedup());
      share.set(
          network.name, fmt::format("{0} x {0}, all", size), numbers.redundant(), "rcps.share",
          {fmt::format("{:.1f} % in weight_grad, {:.1f} % forward, {:.1f} % in input_grad: a weight gradient "
                       "of larger planes has more pairs for the same R x S outputs",
                       numbers.redundant(Operation::kWeightGrad), numbers.redundant(Operation::kForward),
                       numbers.redundant(Operation::kInputGrad)),
           {"O3"},
           {fmt::format("redundant/{0}/{1} x {1}, weight_grad", network.name, size)}});
      share.set(network.name, fmt::format("{0} x {0}, weight_grad", size),
                numbers.redundant(Operation::kWeightGrad));
    }
    const std::string& trace = network.traces[0].trace;
    const double recorded = ant_numbers(in.runs, trace).speedup(),
                 even = ant_numbers(in.runs, moved_source(trace)).speedup();
    uneven.set(trace, "recorded", recorded)
        .set(trace, "moved", even)
        .set(trace, "recorded / moved", recorded / even);
  }
  return {{changes, uneven, share},
          {"Redundant products: the abstract has 'up to 90 %'. By count nearly all products of a step belong "
           "to weight gradients, so the share follows the size of the planes: it is near 90 % only for "
           "networks whose planes are small."}};
}

}  // namespace

std::vector<Figure> ant_assumption_figures() {
  return {{"ant-assumptions", "Which assumption moves which network of ANT", "ant", "abstract and talk",
           make_assumptions}};
}

}  // namespace lacuna::reproduce
