#include "reproduce/inference_networks.hpp"

#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "trace/synthetic/synthetic.hpp"

namespace lacuna::reproduce {
namespace {

std::vector<InferenceLayer> alexnet() {
  const auto conv = [](std::int64_t c, std::int64_t k, std::int64_t side, std::int64_t kernel,
                       std::int64_t stride, std::int64_t padding, std::int64_t groups) {
    return LayerShape::conv2d(1, c, k, {side, side}, {kernel, kernel}, {stride, stride}, {padding, padding},
                              {1, 1}, groups);
  };
  return {{"conv1", conv(3, 96, 227, 11, 4, 0, 1), 0.84, 1},
          {"conv2", conv(96, 256, 27, 5, 1, 2, 2), 0.38, 0.88},
          {"conv3", conv(256, 384, 13, 3, 1, 1, 1), 0.35, 0.52},
          {"conv4", conv(384, 384, 13, 3, 1, 1, 2), 0.37, 0.37},
          {"conv5", conv(384, 256, 13, 3, 1, 1, 2), 0.37, 0.40}};
}

// AlexNet's first layer as a convolution of stride 1: the 4 x 4 positions of a step become channels, and the
// kernel of 11 x 11, with a row and a column of zeros, 3 x 3 blocks of them. Images are padded to 228 x 228.
InferenceLayer folded(const InferenceLayer& conv1) {
  return {conv1.name, LayerShape::conv2d(1, 48, 96, {57, 57}, {3, 3}), conv1.weights, conv1.activations,
          121.0 / 144};
}

LayerShape same(std::int64_t c, std::int64_t k, std::int64_t side, std::int64_t kernel) {
  return LayerShape::conv2d(1, c, k, {side, side}, {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2});
}

std::vector<InferenceLayer> vgg16() {
  const struct {
    const char* name;
    std::int64_t c, k, side;
    double weights, activations;
  } kLayers[] = {{"conv1_1", 3, 64, 224, 0.58, 1},      {"conv1_2", 64, 64, 224, 0.22, 0.53},
                 {"conv2_1", 64, 128, 112, 0.34, 0.89}, {"conv2_2", 128, 128, 112, 0.36, 0.80},
                 {"conv3_1", 128, 256, 56, 0.53, 0.81}, {"conv3_2", 256, 256, 56, 0.24, 0.68},
                 {"conv3_3", 256, 256, 56, 0.42, 0.70}, {"conv4_1", 256, 512, 28, 0.32, 0.64},
                 {"conv4_2", 512, 512, 28, 0.27, 0.51}, {"conv4_3", 512, 512, 28, 0.34, 0.45},
                 {"conv5_1", 512, 512, 14, 0.35, 0.34}, {"conv5_2", 512, 512, 14, 0.29, 0.32},
                 {"conv5_3", 512, 512, 14, 0.36, 0.29}};
  std::vector<InferenceLayer> layers;
  for (const auto& layer : kLayers)
    layers.push_back({layer.name, same(layer.c, layer.k, layer.side, 3), layer.weights, layer.activations});
  return layers;
}

std::vector<InferenceLayer> googlenet() {
  constexpr double kTypical = 0.5;
  const struct {
    const char* name;
    std::int64_t c, side;
    std::int64_t one, three_reduce, three, five_reduce, five, pool;
  } kModules[] = {{"3a", 192, 28, 64, 96, 128, 16, 32, 32},     {"3b", 256, 28, 128, 128, 192, 32, 96, 64},
                  {"4a", 480, 14, 192, 96, 208, 16, 48, 64},    {"4b", 512, 14, 160, 112, 224, 24, 64, 64},
                  {"4c", 512, 14, 128, 128, 256, 24, 64, 64},   {"4d", 512, 14, 112, 144, 288, 32, 64, 64},
                  {"4e", 528, 14, 256, 160, 320, 32, 128, 128}, {"5a", 832, 7, 256, 160, 320, 32, 128, 128},
                  {"5b", 832, 7, 384, 192, 384, 48, 128, 128}};
  std::vector<InferenceLayer> layers;
  for (const auto& m : kModules) {
    const auto add = [&](const char* part, std::int64_t c, std::int64_t k, std::int64_t kernel) {
      layers.push_back({fmt::format("{}_{}", m.name, part), same(c, k, m.side, kernel), kTypical, kTypical});
    };
    add("1x1", m.c, m.one, 1);
    add("3x3_reduce", m.c, m.three_reduce, 1);
    add("3x3", m.three_reduce, m.three, 3);
    add("5x5_reduce", m.c, m.five_reduce, 1);
    add("5x5", m.five_reduce, m.five, 5);
    add("pool_proj", m.c, m.pool, 1);
  }
  return layers;
}

}  // namespace

std::vector<InferenceLayer> inference_layers(const std::string& network) {
  if (network == "alexnet") return alexnet();
  if (network == "vgg16") return vgg16();
  if (network == "googlenet") return googlenet();
  std::vector<InferenceLayer> layers = alexnet();
  if (network == "alexnet-folded") {
    layers.front() = folded(layers.front());
  } else if (network == "alexnet-rest") {
    layers.erase(layers.begin());
  } else {
    throw std::logic_error("no network " + network);
  }
  return layers;
}

Trace inference_network(const std::string& network, std::optional<double> density, std::uint64_t seed,
                        const Trace* relative) {
  SyntheticSpec spec;
  spec.name = network;
  spec.seed = seed;
  for (const InferenceLayer& layer : inference_layers(network)) {
    const auto zeros = [](double nonzeros) {
      return nonzeros == 1 ? ZeroSpec::dense() : ZeroSpec::uniform(1 - nonzeros);
    };
    ZeroSpec activations = zeros(density.value_or(layer.activations));
    if (relative != nullptr && activations.pattern == ZeroPattern::kUniform) {
      // "alexnet-rest" has no first layer.
      const Layer& recorded = relative->layers().at(spec.layers.size() + (network == "alexnet-rest" ? 1 : 0));
      activations = ZeroSpec::clustered(
          activations.share, measure_clustering(recorded.a.mask, rows_of_image(recorded.shape, Operand::kA)));
    }
    spec.layers.push_back({layer.name, layer.shape, 1, activations,
                           zeros(layer.taps * density.value_or(layer.weights)), ZeroSpec::dense()});
  }
  return make_synthetic(spec);
}

}  // namespace lacuna::reproduce
