// ANT over its SCNN-like baseline: speedup, energy, redundant products, area.
#include <fmt/format.h>

#include "energy/energy.hpp"
#include "reproduce/figures/ant_runs.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::reproduce {
namespace {

// VGG16's traces have two linear layers of 4,096, which the talk's networks may not have counted.
const Settings kByChannels{{"linear", "channels"}};
bool has_linear_layers(const AntNetwork& network) { return network.name == "vgg16"; }

constexpr PerOperation<const char*> kOperationNames{"forward", "input_grad", "weight_grad"};

// Why a network's speedup differs: what random zeros of the same share give at the same size of images.
Reason ant_speedup_reason(const Runs& runs, const std::string& network, int size, double ours) {
  const double random = ant_numbers(runs, uniform_source(network, size)).speedup();
  return {fmt::format(
              "images of {0} x {0}: with 90 % zeros at random this model gives {1:.2f}x, the recorded "
              "pattern makes {2:.2f} times that; "
              "the paper's image sizes, patterns, fill and mapping are not known (figure ant-assumptions)",
              size, random, ours / random),
          {"O1", "O2", "O6"}};
}

void add_network(const FigureInputs& in, const AntNetwork& network, FigureTable& speedup, FigureTable& energy,
                 FigureTable& redundant) {
  for (const AntTrace& one : network.traces) {
    const AntNumbers numbers = ant_numbers(in.runs, one.trace);
    for (const Operation op : kOperations) speedup.set(one.trace, kOperationNames[op], numbers.speedup(op));
    speedup.set(one.trace, "all", numbers.speedup(), "speedup." + network.name,
                ant_speedup_reason(in.runs, network.name, one.image_size, numbers.speedup()));
    if (has_linear_layers(network)) {
      const double by_channels = ant_numbers(in.runs, one.trace, kByChannels).speedup();
      speedup.cells.back().reason = {
          fmt::format("its two linear layers of 4,096 meet as whole matrices, nearly all of whose pairs are "
                      "redundant; one channel at a "
                      "time (linear=channels) it is {:.2f}x, and {:.2f}x with the convolutions alone and 90 "
                      "% zeros at random",
                      by_channels,
                      ant_numbers(in.runs, uniform_source(network.name, one.image_size)).speedup()),
          {"O1", "O2", "O5"}};
      speedup.set(one.trace, "all, linear=channels", by_channels, "speedup." + network.name,
                  ant_speedup_reason(in.runs, network.name, one.image_size, by_channels));
    }
    energy.set(one.trace, "ANT / SCNN-like", numbers.energy(), "energy." + network.name,
               {fmt::format("energy follows the cycles: {:.2f}x fewer here, {:.2f}x in the paper; every "
                            "search still reads indices, and "
                            "accumulators and memories do not shrink",
                            numbers.speedup(), in.paper.at("speedup." + network.name).number()),
                {"O8", "O12"}});
    redundant.set(
        one.trace, "redundant", numbers.redundant(), "rcps.share",
        {fmt::format("the weight gradient of a plane has R x S outputs for all pairs of its non-zeros: "
                     "{:.1f} % of its products are "
                     "redundant ({:.1f} % forward), and it has nearly all products; only small planes come "
                     "down to 90 %",
                     numbers.redundant(Operation::kWeightGrad), numbers.redundant(Operation::kForward)),
         {"O3"}});
    redundant.set(one.trace, "removed by ANT", numbers.removed(), "rcps.removed",
                  {"what is left lies inside the range of a vector of 4 non-zeros", {"N2", "N4"}});
  }
}

double added_area(const char* arch) {
  const auto machine = ArchCatalog().find(arch, "reproduce").build();
  return area_mm2(*machine->hardware(), area_table("", 0, *machine->hardware())).total();
}

FigureResult make_ant(const FigureInputs& in) {
  FigureTable speedup{.id = "speedup",
                      .title = "Speedup of ANT over the SCNN-like machine",
                      .row_title = "trace",
                      .unit = "x"};
  FigureTable energy{.id = "energy",
                     .title = "Energy of ANT / energy of the SCNN-like machine",
                     .row_title = "trace",
                     .unit = "ratio",
                     .digits = 3};
  FigureTable redundant{.id = "redundant",
                        .title = "Products that fit no output, and how many of them ANT leaves out",
                        .row_title = "trace",
                        .unit = "%",
                        .digits = 1};
  std::vector<std::string> names;
  for (const AntNetwork& network : ant_networks()) {
    names.push_back(network.name);
    add_network(in, network, speedup, energy, redundant);
  }
  FigureTable means{
      .id = "means", .title = "Geometric means of the five networks", .row_title = "zeros", .unit = "x"};
  const auto first = [&](const std::string& name) {
    for (const AntNetwork& network : ant_networks())
      if (network.name == name) return ant_numbers(in.runs, network.traces[0].trace);
    throw std::logic_error(name);
  };
  // As in the talk's list: CIFAR's forms, and ImageNet's for the ResNets.
  const auto random = [&](const std::string& name) {
    return ant_numbers(in.runs, uniform_source(name, name.starts_with("resnet") ? 224 : 32));
  };
  const Reason coincidence{
      "single networks are off by more than their mean, so a mean that agrees confirms nothing",
      {"O1", "O2"}};
  const Reason uneven{
      "channels of recorded zeros are uneven, and the SCNN-like machine waits longer for its slowest PE than "
      "ANT does",
      {"O1"}};
  const char* recorded_row = "recorded: SWAT and ReSprop, 32 x 32 (ResNet-50: top 10 %, 224 x 224)";
  const char* random_row = "90 % at random, 32 x 32 (ResNets: 224 x 224)";
  means.set(recorded_row, "speedup",
            geometric_mean_of(names, [&](const std::string& n) { return first(n).speedup(); }),
            "speedup.mean", uneven);
  means.set(recorded_row, "energy saved",
            1 / geometric_mean_of(names, [&](const std::string& n) { return first(n).energy(); }),
            "energy.mean", uneven);
  means.set(random_row, "speedup",
            geometric_mean_of(names, [&](const std::string& n) { return random(n).speedup(); }),
            "speedup.mean", coincidence);
  means.set(random_row, "energy saved",
            1 / geometric_mean_of(names, [&](const std::string& n) { return random(n).energy(); }),
            "energy.mean", coincidence);
  constexpr double kPes = 64;
  const double added = added_area("ant") - added_area("scnn");
  FigureTable area{.id = "area",
                   .title = "Area that ANT adds, 16 nm",
                   .row_title = "of",
                   .unit = "mm2",
                   .digits = 4,
                   .chart = Chart::kNone};
  area.set("one PE", "added", added / kPes, "area.added");
  area.set("64 PEs", "added", added);
  return {{speedup, energy, redundant, means, area},
          {"The full paper was not at hand. This shows what our model of ANT gives next to what its authors "
           "report; it does not claim to "
           "reproduce 3.71x, and nothing was fitted to it. The area is the published one, taken per PE (N3).",
           "ReSprop and SWAT are the group's own sparsifiers; those trainings were short and serve for their "
           "zeros. _top90: one step in which only the "
           "largest 10 % of A, G and W were kept."}};
}

}  // namespace

std::vector<Figure> ant_figures() {
  return {{"ant", "ANT over an SCNN-like accelerator at 90 % zeros", "ant", "abstract and talk", make_ant}};
}

}  // namespace lacuna::reproduce
