// ANT over its SCNN-like baseline: speedup, energy, redundant products, area.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <stdexcept>

#include "energy/energy.hpp"
#include "reproduce/figures/ant_energy.hpp"
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
constexpr const char* kShareOfWeightGrad = "weight_grad, of SCNN-like cycles";
constexpr const char* kGradientZeros = "zeros of G";
constexpr const char* kComputeEnergy = "logic of the PEs";
constexpr const char* kSingles = "removed with vectors of 1";
constexpr const char* kRedundantInWeightGrad = "in weight_grad, of them";

struct AntTables {
  FigureTable speedup, energy, redundant, where, sizes;
};

std::string shown(const char* table, const std::string& row, const std::string& column) {
  return fmt::format("{}/{}/{}", table, row, column);
}

// Speedups at random zeros by size of the images: "3.44x at 32 x 32, 10.22x at 64 x 64".
std::string by_size(const FigureTable& sizes, const std::string& network) {
  std::string text;
  for (const std::string& size : sizes.columns) {
    if (const Cell* cell = sizes.find(network, size); cell != nullptr)
      text += fmt::format("{}{:.2f}x at {}", text.empty() ? "" : ", ", cell->ours, size);
  }
  return text;
}

// Why a speedup differs, with the cells that show it.
Reason speedup_reason(const AntTables& tables, const AntNumbers& numbers, const AntNetwork& network,
                      const AntTrace& one) {
  const auto speedup = [&](const char* column) { return tables.speedup.at(one.trace, column); };
  const auto where = [&](const std::string& trace, const char* column) {
    return tables.where.at(trace, column);
  };
  const std::string& standing = network.traces[0].trace;
  const std::string larger = shown("sizes", network.name, tables.sizes.columns[1]);
  switch (one.limit) {
    case AntLimit::kNoGainElsewhere:
      return {fmt::format("weight_grad alone is {:.1f}x; forward and input_grad, where nearly every product "
                          "is useful, gain nothing and are {:.0f} % of ANT's cycles. Larger images have more "
                          "of weight_grad, and the paper's are not known: with 90 % zeros at random {}",
                          speedup("weight_grad"),
                          numbers.share(Operation::kForward) + numbers.share(Operation::kInputGrad),
                          by_size(tables.sizes, network.name)),
              {"O1", "O2"},
              {shown("speedup", one.trace, "weight_grad"), shown("speedup", one.trace, "forward"), larger}};
    case AntLimit::kDenseGradients:
      return {fmt::format("SWAT alone leaves G {:.0f} % zeros ({:.0f} % with ReSprop), so that weight_grad "
                          "is {:.0f} % of the SCNN-like machine's cycles ({:.0f} %); with ReSprop as well "
                          "the speedup is {:.2f}x",
                          where(one.trace, kGradientZeros), where(standing, kGradientZeros),
                          where(one.trace, kShareOfWeightGrad), where(standing, kShareOfWeightGrad),
                          tables.speedup.at(standing, "all")),
              {"O1", "O2"},
              {shown("where", one.trace, kGradientZeros), shown("where", one.trace, kShareOfWeightGrad),
               shown("speedup", standing, "all")}};
    case AntLimit::kPointwise:
      return {fmt::format("weight gradients of 1x1 convolutions: one output for all pairs of two planes. As "
                          "products of matrices, position by position, they have no redundant products; that "
                          "spares the SCNN-like machine {:.0f} % of its cycles and leaves {:.2f}x",
                          where(one.trace, kSpared), speedup(kByPositions)),
              {"O18"},
              {shown("speedup", one.trace, kByPositions), shown("where", one.trace, kSpared)}};
    case AntLimit::kShortPairs:
      return {fmt::format("planes of 2 x 2 to 32 x 32 make short pairs, whose fixed costs decide: if each "
                          "pair fills the pipe, it is {:.2f}x",
                          speedup(kFilledPerPair)),
              {"O2"},
              {shown("speedup", one.trace, kFilledPerPair)}};
    case AntLimit::kHead:
      return {fmt::format("its two linear layers of 4,096 meet as whole matrices, nearly all of whose pairs "
                          "are redundant; by positions it is {:.2f}x",
                          speedup(kByPositions)),
              {"O2", "O5"},
              {shown("speedup", one.trace, kByPositions)}};
    case AntLimit::kImageSize:
      return {fmt::format("images of 224 x 224: a weight gradient has as many outputs as for 32 x 32 and the "
                          "square of the area in pairs. With 90 % zeros at random {}; recorded at 32 x 32 "
                          "{:.2f}x",
                          by_size(tables.sizes, network.name), tables.speedup.at(standing, "all")),
              {"O1", "O2"},
              {larger, shown("sizes", network.name, "224 x 224"), shown("speedup", standing, "all")}};
  }
  return {};
}

Reason energy_reason(const AntTables& tables, const AntNumbers& numbers, const AntTrace& one, double paper) {
  return {
      fmt::format("energy follows the cycles, {:.2f}x fewer here and {:.2f}x in the paper. The logic of "
                  "the PEs takes {:.3f} of the SCNN-like machine's; memories and DRAM, which ANT leaves "
                  "as they are, make that {:.3f} (table components), while in the paper energy falls more "
                  "than the cycles do",
                  numbers.speedup(), paper, tables.energy.at(one.trace, kComputeEnergy),
                  tables.energy.at(one.trace, "all")),
      {"O8", "O12"},
      {shown("speedup", one.trace, "all"), shown("energy", one.trace, kComputeEnergy),
       "readings/all/energy saved / speedup"}};
}

Reason redundant_reason(const FigureTable& redundant, const AntTrace& one) {
  const double in_weight_grad = redundant.at(one.trace, kRedundantInWeightGrad);
  if (one.limit == AntLimit::kHead) {
    return {
        fmt::format("{:.1f} % of them are of weight_grad; the others are of its linear layers, which "
                    "meet as whole matrices, so that {:.1f} % of the forward products fit no output",
                    in_weight_grad, redundant.at(one.trace, "forward")),
        {"O5"},
        {shown("redundant", one.trace, kRedundantInWeightGrad), shown("redundant", one.trace, "forward")}};
  }
  return {
      fmt::format("{:.1f} % of them are of weight_grad, which has R x S outputs for all pairs of the "
                  "non-zeros of two planes: {:.1f} % of its products fit none",
                  in_weight_grad, redundant.at(one.trace, "weight_grad")),
      {"O3"},
      {shown("redundant", one.trace, kRedundantInWeightGrad), shown("redundant", one.trace, "weight_grad")}};
}

Reason removed_reason(const FigureTable& redundant, const AntTrace& one) {
  const Cell* singles = redundant.find(one.trace, kSingles);
  if (singles == nullptr) return {};
  return {fmt::format("a vector of 4 non-zeros meets all kernel elements in the rectangle around it; with "
                      "vectors of 1 ANT leaves out {:.1f} %",
                      singles->ours),
          {"N2", "N4"},
          {shown("redundant", one.trace, kSingles)}};
}

void add_trace(const FigureInputs& in, const AntNetwork& network, const AntTrace& one, AntTables& tables) {
  using Number = std::function<double(const AntNumbers&)>;
  const auto add = [&](FigureTable& table, const std::string& column, const Number& number,
                       const AntReading& reading = ant_readings()[0]) {
    set_with_halves(
        in.runs, table, one.trace,
        {column, [&](const std::string& trace) { return number(ant_numbers(in.runs, trace, reading)); }},
        one.trace);
  };
  for (const Operation op : kOperations)
    add(tables.speedup, kOperationNames[op], [op](const AntNumbers& n) { return n.speedup(op); });
  for (const AntReading& reading : ant_readings()) {
    add(
        tables.speedup, reading.title, [](const AntNumbers& n) { return n.speedup(); }, reading);
    add(
        tables.energy, reading.title, [](const AntNumbers& n) { return n.energy(); }, reading);
  }
  tables.speedup.set(one.trace, "paper", in.paper.at("speedup." + network.name).number());
  add(tables.energy, kComputeEnergy, [](const AntNumbers& n) { return n.compute_energy(); });
  tables.energy.set(one.trace, "paper", in.paper.at("energy." + network.name).number());
  add(tables.redundant, "forward", [](const AntNumbers& n) { return n.redundant(Operation::kForward); });
  add(tables.redundant, "weight_grad",
      [](const AntNumbers& n) { return n.redundant(Operation::kWeightGrad); });
  add(tables.redundant, "all", [](const AntNumbers& n) { return n.redundant(); });
  add(tables.redundant, kRedundantInWeightGrad,
      [](const AntNumbers& n) { return n.redundant_in_weight_grad(); });
  add(tables.redundant, "removed by ANT", [](const AntNumbers& n) { return n.removed(); });
  if (one.limit != AntLimit::kImageSize) {  // where it would take minutes
    const Run& singles = in.runs.run(one.trace, "ant", {{"n", "1"}});
    tables.redundant.set(one.trace, kSingles, AntNumbers{singles, singles}.removed());
  }
  tables.where.set(one.trace, kGradientZeros, 100 * in.runs.potential(one.trace).zero_share(Operand::kG));
  add(tables.where, kShareOfWeightGrad, [](const AntNumbers& n) {
    return AntNumbers::percent(n.scnn.batch.of(Operation::kWeightGrad).cycles, n.scnn.batch.all.cycles);
  });
  tables.where.set(
      one.trace, kSpared,
      100 - AntNumbers::percent(ant_numbers(in.runs, one.trace, ant_readings()[2]).scnn.batch.all.cycles,
                                ant_numbers(in.runs, one.trace).scnn.batch.all.cycles));
}

void compare_trace(const FigureInputs& in, const AntNetwork& network, const AntTrace& one,
                   AntTables& tables) {
  const AntNumbers numbers = ant_numbers(in.runs, one.trace);
  tables.speedup.compare(one.trace, "all", "speedup." + network.name,
                         speedup_reason(tables, numbers, network, one));
  tables.energy.compare(one.trace, "all", "energy." + network.name,
                        energy_reason(tables, numbers, one, in.paper.at("speedup." + network.name).number()));
  tables.redundant.compare(one.trace, "all", "rcps.share", redundant_reason(tables.redundant, one))
      .compare(one.trace, "removed by ANT", "rcps.removed", removed_reason(tables.redundant, one));
}

// Distance of each reading from the paper over the five networks: means, and the mean factor between ours and
// the paper's.
FigureTable readings_table(const FigureInputs& in) {
  FigureTable table{.id = "readings",
                    .title = "The five networks with ReSprop and SWAT under each reading, geometric means",
                    .row_title = "reading",
                    .unit = "x",
                    .chart = Chart::kNone};
  using Sources = std::vector<std::string>;
  using NumberOfAll = std::function<double(const Sources&)>;
  const auto paper_of = [&](const char* what, const std::string& source) {
    for (const AntNetwork& network : ant_networks())
      if (source.find(network.name) != std::string::npos) return in.paper.at(what + network.name).number();
    throw std::logic_error(source);
  };
  // `set` adds the cell of a number.
  const auto add = [&](const AntReading& reading,
                       const std::function<void(const std::string& column, const NumberOfAll&)>& set) {
    const auto of = [&](const std::string& source) { return ant_numbers(in.runs, source, reading); };
    const auto speedup = [&](const std::string& source) { return of(source).speedup(); };
    const auto saved = [&](const std::string& source) { return 1 / of(source).energy(); };
    const auto off_by = [&](const Sources& sources, const auto& ours, const auto& paper) {
      return geometric_mean_of(sources, [&](const std::string& source) {
        return std::exp(std::abs(std::log(ours(source) / paper(source))));
      });
    };
    set("speedup", [&](const Sources& all) { return geometric_mean_of(all, speedup); });
    set("speedup, off by", [&](const Sources& all) {
      return off_by(all, speedup, [&](const std::string& source) { return paper_of("speedup.", source); });
    });
    set("energy saved", [&](const Sources& all) { return geometric_mean_of(all, saved); });
    set("energy saved, off by", [&](const Sources& all) {
      return off_by(all, saved, [&](const std::string& source) { return 1 / paper_of("energy.", source); });
    });
    set("energy saved / speedup",
        [&](const Sources& all) { return geometric_mean_of(all, saved) / geometric_mean_of(all, speedup); });
  };
  Sources standing;
  for (const AntNetwork& network : ant_networks()) standing.push_back(network.traces[0].trace);
  for (const AntReading& reading : ant_readings()) {
    add(reading, [&](const std::string& column, const NumberOfAll& of) {
      set_of_all_with_halves(in.runs, table, reading.title, column, standing, of);
    });
  }
  // As in the talk's list: CIFAR's forms, and ImageNet's for the ResNets.
  add(ant_readings()[0], [&](const std::string& column, const NumberOfAll& of) {
    const auto drawn = [&](int seed) {
      Sources sources;
      for (const AntNetwork& network : ant_networks()) {
        const int size = network.name.starts_with("resnet") ? 224 : kSmallImages;
        sources.push_back(uniform_source(network.name, size, std::min(seed, seeds_of(size))));
      }
      return of(sources);
    };
    set_over_seeds(table, "all, 90 % at random, 32 x 32 (ResNets: 224 x 224)", column, drawn,
                   seeds_of(kSmallImages));
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
               {"energy follows the cycles, of which more are saved here, and falls less than they do (table "
                "components)",
                {"O8", "O12"},
                {"readings/all/speedup", "readings/all/energy saved / speedup"}});
  return table;
}

double added_area(const char* arch) {
  const auto machine = ArchCatalog().find(arch, "reproduce").build();
  return area_mm2(*machine->hardware(), area_table("", 0, *machine->hardware())).total();
}

FigureResult make_ant(const FigureInputs& in) {
  AntTables tables{.speedup = {.id = "speedup",
                               .title = "Speedup of ANT over the SCNN-like machine",
                               .row_title = "trace",
                               .unit = "x"},
                   .energy = {.id = "energy",
                              .title = "Energy of ANT / energy of the SCNN-like machine",
                              .row_title = "trace",
                              .unit = "ratio",
                              .digits = 3},
                   .redundant = {.id = "redundant",
                                 .title = "Products that fit no output, and how many of them ANT leaves out",
                                 .row_title = "trace",
                                 .unit = "%",
                                 .digits = 1},
                   .where = {.id = "where",
                             .title = "Zeros of gradients, and what they leave to the weight gradient",
                             .row_title = "trace",
                             .unit = "%",
                             .digits = 1,
                             .chart = Chart::kNone},
                   .sizes = {.id = "sizes",
                             .title = "Speedup with 90 % zeros at random, by size of the images",
                             .row_title = "network",
                             .unit = "x"}};
  for (const AntNetwork& network : ant_networks()) {
    for (const int size : image_sizes(network.name)) {
      set_over_seeds(
          tables.sizes, network.name, fmt::format("{0} x {0}", size),
          [&](int seed) { return ant_numbers(in.runs, uniform_source(network.name, size, seed)).speedup(); },
          seeds_of(size));
    }
  }
  for (const AntNetwork& network : ant_networks())
    for (const AntTrace& one : network.traces) add_trace(in, network, one, tables);
  for (const AntNetwork& network : ant_networks())
    for (const AntTrace& one : network.traces) compare_trace(in, network, one, tables);
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
  const FigureTable components = ant_components_table(in.runs), saved = ant_saved_table(in);
  return {{tables.speedup, tables.energy, components, saved, tables.redundant, tables.where, tables.sizes,
           readings_table(in), area},
          {"The full paper was not at hand. This shows what our model of ANT gives next to what its authors "
           "report; it does not claim to reproduce 3.71x, and nothing was fitted to it. The area is the "
           "published one, taken per PE (N3).",
           "ReSprop and SWAT are the group's own sparsifiers; the forward product multiplies all activations "
           "(A_forward). Recorded at the end of a training on CIFAR-10, with accuracies of 61 to 93 %. "
           "vgg16lin has one linear layer, vgg16 three. _top90: one step in which only the largest 10 % of "
           "A, G and W were kept; one sample, so that it has no range.",
           ant_components_note(components, saved),
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
