// SCNN on the networks of its evaluation, inference alone.
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/inference_networks.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

constexpr int kScnnSeeds = 2;
constexpr const char* kClustered = "zeros clustered as in our trace";

struct ScnnVariant {
  const char* title;
  Settings settings;
};

const std::vector<ScnnVariant>& scnn_variants() {
  static const std::vector<ScnnVariant> kVariants{
      {"scnn-tiles", {}},
      {"a vector per filter (O16)", {{"kernel_vectors", "kernel"}}},
      {"RAMs and drains ideal (O13, O14)", {{"pe_memory", "unlimited"}, {"drains", "hidden"}}}};
  return kVariants;
}

const std::vector<std::string>& scnn_networks() {
  static const std::vector<std::string> kNetworks{"alexnet", "alexnet-folded", "alexnet-rest", "googlenet",
                                                  "vgg16"};
  return kNetworks;
}

// DCNN, the dense machine that SCNN's speedups refer to: 8 x 8 PEs that the planes are tiled over as SCNN's
// are, each with a dot product of 16. ASSUMPTION(O17): of any taps and channels.
double dcnn_cycles(const std::string& network) {
  std::int64_t cycles = 0;
  for (const InferenceLayer& layer : inference_layers(network == "alexnet-folded" ? "alexnet" : network)) {
    const LayerShape& s = layer.shape;
    cycles +=
        ceil_div(s.output.h, 8) * ceil_div(s.output.w, 8) * s.k * ceil_div(s.taps() * s.c_per_group(), 16);
  }
  return static_cast<double>(cycles);
}

// Forward passes of a network; `density` as in trace_sources.hpp.
class ForwardPasses {
 public:
  explicit ForwardPasses(const Runs& runs) : runs_(runs) {}

  const CycleComparison& cycles(const std::string& network, const std::string& density, int seed,
                                const Settings& settings = {}) const {
    return runs_.run(fmt::format("inference:{}:{}:{}", network, density, seed), "scnn-tiles", settings)
        .batch.of(Operation::kForward);
  }
  double over_dcnn(const std::string& network, const std::string& density, int seed,
                   const Settings& settings = {}) const {
    return dcnn_cycles(network) / cycles(network, density, seed, settings).cycles;
  }

 private:
  const Runs& runs_;
};

FigureTable pruned_networks(const ForwardPasses& passes) {
  FigureTable table{.id = "speedup",
                    .title = "Forward pass of pruned networks, speedup over SCNN's dense machine (DCNN)",
                    .row_title = "network",
                    .unit = "x"};
  for (const std::string& network : scnn_networks()) {
    for (const ScnnVariant& variant : scnn_variants()) {
      set_over_seeds(
          table, network, variant.title,
          [&](int seed) { return passes.over_dcnn(network, "published", seed, variant.settings); },
          kScnnSeeds);
    }
    // GoogLeNet was not recorded.
    if (network != "googlenet") {
      set_over_seeds(
          table, network, kClustered, [&](int seed) { return passes.over_dcnn(network, "clustered", seed); },
          kScnnSeeds);
    }
    set_over_seeds(
        table, network, "scnn-tiles over dense (O4)",
        [&](int seed) { return passes.cycles(network, "published", seed).speedup(); }, kScnnSeeds);
  }
  return table;
}

FigureTable dense_networks(const ForwardPasses& passes) {
  FigureTable table{.id = "dense",
                    .title = "Forward pass without zeros, share of the performance of DCNN",
                    .row_title = "network",
                    .unit = "%",
                    .digits = 1};
  for (const std::string& network : scnn_networks()) {
    for (const ScnnVariant& variant : scnn_variants())
      table.set(network, variant.title, 100 * passes.over_dcnn(network, "1", 1, variant.settings));
    table.set(network, "scnn-tiles over dense (O4)", 100 * passes.cycles(network, "1", 1).speedup());
  }
  return table.compare("googlenet", "scnn-tiles", "dense.googlenet",
                       {"planes of 7 x 7 leave each PE one activation of the four that it could take; those "
                        "of VGG16 are larger",
                        {"O7"},
                        {"dense/vgg16/scnn-tiles"}});
}

constexpr const char* kDensities[] = {"0.3", "0.4", "0.5", "0.6", "0.8"};

// SCNN's paper sweeps the densities of GoogLeNet.
FigureTable density_sweep(const ForwardPasses& passes) {
  FigureTable table{.id = "densities",
                    .title = "GoogLeNet by share of non-zeros in weights and in activations, over DCNN",
                    .row_title = "machine",
                    .unit = "x",
                    .chart = Chart::kLinesByRow};
  for (const char* density : kDensities) {
    set_over_seeds(
        table, "scnn-tiles", density, [&](int seed) { return passes.over_dcnn("googlenet", density, seed); },
        kScnnSeeds);
  }
  return table;
}

FigureResult make_scnn(const FigureInputs& in) {
  const ForwardPasses passes(in.runs);
  FigureTable pruned = pruned_networks(passes);
  const FigureTable densities = density_sweep(passes);
  pruned
      .compare(
          "alexnet", "scnn-tiles", "speedup.alexnet",
          {fmt::format("conv1 has a stride of 4, for which SCNN gives no rule: here all its products "
                       "are formed, and 15 of 16 are redundant. Folded into one of stride 1, as its "
                       "image and kernel allow, the network has {:.2f}x; the other layers {:.2f}x",
                       pruned.at("alexnet-folded", "scnn-tiles"), pruned.at("alexnet-rest", "scnn-tiles")),
           {"O7"},
           {"speedup/alexnet-folded/scnn-tiles", "speedup/alexnet-rest/scnn-tiles"}})
      .compare("alexnet-folded", "scnn-tiles", "speedup.alexnet",
               {fmt::format("how SCNN runs conv1, whose image has no zeros, is not known; the other layers "
                            "have {:.2f}x",
                            pruned.at("alexnet-rest", "scnn-tiles")),
                {"O7"},
                {"speedup/alexnet-rest/scnn-tiles"}})
      .compare(
          "googlenet", "scnn-tiles", "speedup.googlenet",
          {fmt::format("its layers' densities are published as a picture: a half of either is drawn. With "
                       "0.4 of either it is {:.2f}x, and with a half and ideal RAMs and drains {:.2f}x",
                       densities.at("scnn-tiles", "0.4"), pruned.at("googlenet", scnn_variants()[2].title)),
           {"O14"},
           {"densities/scnn-tiles/0.4", fmt::format("speedup/googlenet/{}", scnn_variants()[2].title)}})
      .compare(
          "vgg16", "scnn-tiles", "speedup.vgg16",
          {fmt::format("how densely SCNN packs vectors is not known: across filters as here, or filters one "
                       "by one, which is {:.2f}x. Zeros that cluster as in our trace explain little: {:.2f}x",
                       pruned.at("vgg16", scnn_variants()[1].title), pruned.at("vgg16", kClustered)),
           {"O16"},
           {fmt::format("speedup/vgg16/{}", kClustered),
            fmt::format("speedup/vgg16/{}", scnn_variants()[1].title)}});
  return {{pruned, dense_networks(passes), densities},
          {"DCNN tiles planes over its PEs as SCNN does (O17), so that small planes leave both idle; the "
           "dense machine of the other figures does not (O4). alexnet-folded: conv1 as a convolution of "
           "stride 1 whose channels are the 4 x 4 positions of a step, next to DCNN on conv1 as it is; "
           "alexnet-rest: AlexNet without conv1. AlexNet and VGG16 have the zeros that Han et al. (NIPS "
           "2015) publish for each layer, at random; mean of two seeds."}};
}

}  // namespace

std::vector<Figure> scnn_figures() {
  return {{.id = "scnn",
           .title = "SCNN against a dense machine of as many multipliers",
           .paper = "scnn",
           .place = "section 6, network averages and sweep of densities",
           .make = make_scnn}};
}

}  // namespace lacuna::reproduce
