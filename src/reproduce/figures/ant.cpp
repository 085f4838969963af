// ANT over its SCNN-like baseline: speedup, energy, redundant products, area.
#include <fmt/format.h>

#include "energy/energy.hpp"
#include "reproduce/figures/ant_runs.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::reproduce {
namespace {

constexpr PerOperation<const char*> kOperationNames{"forward", "input_grad", "weight_grad"};
const char* const kFilledPerPair = ant_readings()[1].title;
const char* const kByPositions = ant_readings()[2].title;
constexpr const char* kSpared = "SCNN-like cycles spared by 1x1 by positions";

// Why a speedup differs, with the cells of the same row that show it.
Reason speedup_reason(const FigureTable& speedup, const AntNumbers& numbers, double spared,
                      const AntNetwork& network, const AntTrace& one) {
  const auto cell = [&](const char* column) { return speedup.at(one.trace, column); };
  const auto shown = [&](const std::string& row, const char* column) {
    return fmt::format("speedup/{}/{}", row, column);
  };
  switch (one.limit) {
    case AntLimit::kNoGainElsewhere:
      return {fmt::format("weight_grad alone is {:.1f}x; forward and input_grad, where nearly every product "
                          "is useful, gain nothing and are {:.0f} % of ANT's cycles",
                          cell("weight_grad"),
                          numbers.share(Operation::kForward) + numbers.share(Operation::kInputGrad)),
              {"O1", "O2"},
              {shown(one.trace, "weight_grad"), shown(one.trace, "forward")}};
    case AntLimit::kPointwise:
      return {fmt::format("weight gradients of 1x1 convolutions: one output for all pairs of two planes. As "
                          "products of matrices, position by position, they have no redundant products; that "
                          "spares the SCNN-like machine {:.0f} % of its cycles and leaves {:.2f}x",
                          spared, cell(kByPositions)),
              {"O18"},
              {shown(one.trace, kByPositions), fmt::format("redundant/{}/{}", one.trace, kSpared)}};
    case AntLimit::kShortPairs:
      return {fmt::format("planes of 2 x 2 to 32 x 32 make short pairs, whose fixed costs decide: if each "
                          "pair fills the pipe, it is {:.2f}x",
                          cell(kFilledPerPair)),
              {"O2"},
              {shown(one.trace, kFilledPerPair)}};
    case AntLimit::kHead:
      return {fmt::format("its two linear layers of 4,096 meet as whole matrices, nearly all of whose pairs "
                          "are redundant; by positions it is {:.2f}x",
                          cell(kByPositions)),
              {"O2", "O5"},
              {shown(one.trace, kByPositions)}};
    case AntLimit::kImageSize:
      return {fmt::format("images of 224 x 224: a weight gradient has as many outputs as for 32 x 32 and the "
                          "square of the area in pairs; from 32 x 32 it is {:.2f}x",
                          speedup.at(network.traces[0].trace, "all")),
              {"O1", "O2"},
              {shown(network.traces[0].trace, "all")}};
  }
  return {};
}

void add_network(const FigureInputs& in, const AntNetwork& network, FigureTable& speedup, FigureTable& energy,
                 FigureTable& redundant) {
  const double paper = in.paper.at("speedup." + network.name).number();
  for (const AntTrace& one : network.traces) {
    const AntNumbers numbers = ant_numbers(in.runs, one.trace);
    for (const Operation op : kOperations) speedup.set(one.trace, kOperationNames[op], numbers.speedup(op));
    for (const AntReading& reading : ant_readings()) {
      const AntNumbers read = ant_numbers(in.runs, one.trace, reading);
      speedup.set(one.trace, reading.title, read.speedup());
      energy.set(one.trace, reading.title, read.energy());
    }
    const AntNumbers matrices = ant_numbers(in.runs, one.trace, ant_readings()[2]);
    const double spared =
        100 - AntNumbers::percent(matrices.scnn.batch.all.cycles, numbers.scnn.batch.all.cycles);
    speedup.set(one.trace, "paper", paper)
        .compare(one.trace, "all", "speedup." + network.name,
                 speedup_reason(speedup, numbers, spared, network, one));
    energy.set(one.trace, "paper", in.paper.at("energy." + network.name).number())
        .compare(one.trace, "all", "energy." + network.name,
                 {fmt::format("energy follows the cycles, {:.2f}x fewer here and {:.2f}x in the paper; and "
                              "it falls less than they do here, more in the paper (table readings)",
                              numbers.speedup(), paper),
                  {"O8", "O12"},
                  {fmt::format("speedup/{}/all", one.trace), "readings/all/energy saved / speedup"}});
    redundant.set(one.trace, "forward", numbers.redundant(Operation::kForward))
        .set(one.trace, "weight_grad", numbers.redundant(Operation::kWeightGrad))
        .set(one.trace, "all", numbers.redundant(), "rcps.share",
             {"a weight gradient has R x S outputs for all pairs of the non-zeros of two planes, and nearly "
              "all products of a step are its own; the share falls with the size of the planes",
              {"O3"},
              {fmt::format("redundant/{}/weight_grad", one.trace),
               fmt::format("redundant/{}/forward", one.trace)}})
        .set(one.trace, "removed by ANT", numbers.removed(), "rcps.removed",
             {"what is left lies inside the range of a vector of 4 non-zeros",
              {"N2", "N4"},
              {fmt::format("redundant/{}/weight_grad", one.trace)}})
        .set(one.trace, kSpared, spared);
  }
}

// How near each reading is to the paper, over the five networks: means, and the mean factor between ours and
// the paper's.
FigureTable readings_table(const FigureInputs& in) {
  FigureTable table{.id = "readings",
                    .title = "The five networks with ReSprop and SWAT under each reading, geometric means",
                    .row_title = "reading",
                    .unit = "x",
                    .chart = Chart::kNone};
  std::vector<std::string> names;
  for (const AntNetwork& network : ant_networks()) names.push_back(network.name);
  const auto add = [&](const std::string& row, const std::function<AntNumbers(const std::string&)>& of) {
    const auto mean = [&](const std::function<double(const std::string&)>& value) {
      return geometric_mean_of(names, value);
    };
    const auto factor = [&](double ours, const std::string& key) {
      return std::exp(std::abs(std::log(ours / in.paper.at(key).number())));
    };
    const double speedup = mean([&](const std::string&n) { return of(n).speedup(); }),
                 saved = mean([&](const std::string&n) { return 1 / of(n).energy(); });
    table.set(row, "speedup", speedup)
        .set(row, "speedup, off by",
             mean([&](const std::string& n) { return factor(of(n).speedup(), "speedup." + n); }))
        .set(row, "energy saved", saved)
        .set(row, "energy saved, off by",
             mean([&](const std::string& n) { return factor(of(n).energy(), "energy." + n); }))
        .set(row, "energy saved / speedup", saved / speedup);
  };
  for (const AntReading& reading : ant_readings()) {
    add(reading.title, [&](const std::string& name) {
      for (const AntNetwork& network : ant_networks())
        if (network.name == name) return ant_numbers(in.runs, network.traces[0].trace, reading);
      throw std::logic_error(name);
    });
  }
  // As in the talk's list: CIFAR's forms, and ImageNet's for the ResNets.
  add("all, 90 % at random, 32 x 32 (ResNets: 224 x 224)", [&](const std::string& name) {
    return ant_numbers(in.runs, uniform_source(name, name.starts_with("resnet") ? 224 : 32));
  });
  const double speedup = in.paper.at("speedup.mean").number(), saved = in.paper.at("energy.mean").number();
  table.set("the paper", "speedup", speedup)
      .set("the paper", "energy saved", saved)
      .set("the paper", "energy saved / speedup", saved / speedup);
  const char* const positions = kByPositions;
  table
      .compare("all", "speedup", "speedup.mean",
               {fmt::format("mostly the weight gradients of 1x1 convolutions in DenseNet-121 and ResNet-50: "
                            "by positions the mean is {:.2f}x",
                            table.at(positions, "speedup")),
                {"O2", "O18"},
                {fmt::format("readings/{}/speedup", positions)}})
      .compare("all", "energy saved", "energy.mean",
               {"energy follows the cycles, of which more are saved here, and falls less than they do",
                {"O8", "O12"},
                {"readings/all/speedup", "readings/all/energy saved / speedup"}});
  return table;
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
  for (const AntNetwork& network : ant_networks()) add_network(in, network, speedup, energy, redundant);
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
  return {{speedup, energy, redundant, readings_table(in), area},
          {"The full paper was not at hand. This shows what our model of ANT gives next to what its authors "
           "report; it does not claim to reproduce 3.71x, and nothing was fitted to it. The area is the "
           "published one, taken per PE (N3).",
           "ReSprop and SWAT are the group's own sparsifiers; the forward product multiplies all activations "
           "(A_forward). Recorded at the end of a training on CIFAR-10, with accuracies of 61 to 93 %. "
           "vgg16lin has one linear layer, vgg16 three. _top90: one step in which only the largest 10 % of "
           "A, G and W were kept.",
           "Pipes that fill once per operation are the default: the pipes of 3 and 6 stages and SCNN's "
           "barriers at the end of a group of output channels are documented, and nothing that empties a "
           "pipe between two pairs is. Per pair, VGG16, DenseNet-121 and ResNet-50 come nearer to the paper, "
           "ResNet18 and WRN go further away; with 1x1 convolutions by positions, a fill per pair takes all "
           "but VGG16 further away."}};
}

}  // namespace

std::vector<Figure> ant_figures() {
  return {{"ant", "ANT over an SCNN-like accelerator at 90 % zeros", "ant", "abstract and talk", make_ant}};
}

}  // namespace lacuna::reproduce
