// Effect of each assumption on each network of ANT's evaluation, and possible sources of the abstract's 90 %.
#include <fmt/format.h>
#include <optional>

#include "reproduce/figures/ant_runs.hpp"
#include "reproduce/figures/models.hpp"

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
    for (const AntChange& change : ant_changes()) {
      set_over_seeds(
          changes, network.name, change.title,
          [&](int seed) {
            return ant_numbers(in.runs, uniform_source(network.name, kSmallImages, seed), change.settings)
                .speedup();
          },
          seeds_of(kSmallImages));
    }
    for (const int size : image_sizes(network.name)) {
      const auto percent = [&](std::optional<Operation> op) {
        return [&in, source = network.name, size, op](int seed) {
          const AntNumbers numbers = ant_numbers(in.runs, uniform_source(source, size, seed));
          return op ? numbers.redundant(*op) : numbers.redundant();
        };
      };
      const std::string all = fmt::format("{0} x {0}, all", size),
                        weight_grad = fmt::format("{0} x {0}, weight_grad", size);
      set_over_seeds(share, network.name, all, percent(std::nullopt), seeds_of(size));
      set_over_seeds(share, network.name, weight_grad, percent(Operation::kWeightGrad), seeds_of(size));
      const AntNumbers numbers = ant_numbers(in.runs, uniform_source(network.name, size));
      share.compare(
          network.name, all, "rcps.share",
          {fmt::format("{:.1f} % in weight_grad, {:.1f} % forward, {:.1f} % in input_grad: a weight gradient "
                       "of larger planes has more pairs for the same R x S outputs",
                       numbers.redundant(Operation::kWeightGrad), numbers.redundant(Operation::kForward),
                       numbers.redundant(Operation::kInputGrad)),
           {"O3"},
           {fmt::format("redundant/{}/{}", network.name, weight_grad)}});
    }
    const auto speedup = [&](const std::string& trace) { return ant_numbers(in.runs, trace).speedup(); };
    const auto moved = [&](const std::string& trace) { return speedup("moved:" + trace); };
    const std::string& trace = network.traces[0].trace;
    set_with_halves(in.runs, uneven, trace, {"recorded", speedup}, trace);
    set_with_halves(in.runs, uneven, trace, {"moved", moved}, trace);
    set_with_halves(in.runs, uneven, trace,
                    {"recorded / moved",
                     [&](const std::string& one) { return moved(one) > 0 ? speedup(one) / moved(one) : 0; }},
                    trace);
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
