// SCNN on the networks of its evaluation, inference alone.
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "reproduce/figure.hpp"
#include "reproduce/inference_networks.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

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
  static const std::vector<std::string> kNetworks{"alexnet", "alexnet-rest", "googlenet", "vgg16"};
  return kNetworks;
}

// DCNN, the dense machine that SCNN's speedups refer to: 8 x 8 PEs that the planes are tiled over as SCNN's
// are, each with a dot product of 16. ASSUMPTION(O17): of any taps and channels.
double dcnn_cycles(const std::string& network) {
  std::int64_t cycles = 0;
  for (const InferenceLayer& layer : inference_layers(network)) {
    const LayerShape& s = layer.shape;
    cycles +=
        ceil_div(s.output.h, 8) * ceil_div(s.output.w, 8) * s.k * ceil_div(s.taps() * s.c_per_group(), 16);
  }
  return static_cast<double>(cycles);
}

// Cycles of the forward pass.
CycleComparison forward(const Runs& runs, const std::string& source, const std::string& network,
                        const Settings& settings = {}) {
  return runs.run(source + network, "scnn-tiles", settings).batch.of(Operation::kForward);
}

Reason why(const Runs& runs, const std::string& network) {
  const auto speedup = [&](const std::string& of, const Settings& settings = {}) {
    return dcnn_cycles(of) / forward(runs, "inference:", of, settings).cycles;
  };
  if (network == "alexnet") {
    return {fmt::format("conv1 has a stride of 4, for which SCNN gives no rule: here all its products are "
                        "formed, and 15 of 16 are redundant. The other layers together: {:.2f}x",
                        speedup("alexnet-rest")),
            {"O7"},
            {"speedup/alexnet-rest/scnn-tiles"}};
  }
  if (network == "googlenet") {
    return {fmt::format("its layers' densities are published as a picture: a half of either is drawn. Of "
                        "what the machine loses, drains are a part: {:.2f}x without",
                        speedup(network, scnn_variants()[2].settings)),
            {"O14"},
            {fmt::format("speedup/googlenet/{}", scnn_variants()[2].title)}};
  }
  return {fmt::format("zeros are drawn evenly, while those of images cluster and PEs wait for the fullest; "
                      "filters one by one: {:.2f}x",
                      speedup(network, scnn_variants()[1].settings)),
          {"O16"},
          {fmt::format("speedup/vgg16/{}", scnn_variants()[1].title)}};
}

FigureResult make_scnn(const FigureInputs& in) {
  FigureTable pruned{.id = "speedup",
                     .title = "Forward pass of pruned networks, speedup over SCNN's dense machine (DCNN)",
                     .row_title = "network",
                     .unit = "x"};
  FigureTable dense{.id = "dense",
                    .title = "Forward pass without zeros, share of the performance of DCNN",
                    .row_title = "network",
                    .unit = "%",
                    .digits = 1};
  for (const std::string& network : scnn_networks()) {
    const double dcnn = dcnn_cycles(network);
    for (const ScnnVariant& variant : scnn_variants()) {
      const bool own = variant.settings.empty() && network != "alexnet-rest";
      pruned.set(network, variant.title,
                 dcnn / forward(in.runs, "inference:", network, variant.settings).cycles,
                 own ? "speedup." + network : "", own ? why(in.runs, network) : Reason{});
      dense.set(network, variant.title,
                100 * dcnn / forward(in.runs, "inference-dense:", network, variant.settings).cycles,
                own && network == "googlenet" ? "dense.googlenet" : "",
                {"planes of 7 x 7 leave each PE one activation of the four that it could take; those of "
                 "VGG16 are larger",
                 {"O7"},
                 {"dense/vgg16/scnn-tiles"}});
    }
    pruned.set(network, "scnn-tiles over dense (O4)", forward(in.runs, "inference:", network).speedup());
    dense.set(network, "scnn-tiles over dense (O4)",
              100 * forward(in.runs, "inference-dense:", network).speedup());
  }
  return {{pruned, dense},
          {"DCNN tiles planes over its PEs as SCNN does (O17), so that small planes leave both idle; the "
           "dense machine of the other figures does not (O4). alexnet-rest is AlexNet without conv1. AlexNet "
           "and VGG16 have the zeros that Han et al. (NIPS 2015) publish for each layer, at random."}};
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
