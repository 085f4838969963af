// The networks that SCNN is evaluated with, pruned, and how many of their weights and activations are not
// zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna::reproduce {

struct InferenceLayer {
  std::string name;
  LayerShape shape;             // of one image
  double weights, activations;  // shares that are not zero
  double taps = 1;              // share of the kernel that the layer has; the rest is zero in any case
};

// The convolutions of "alexnet", "alexnet-folded" (conv1, of stride 4, as one of stride 1: blocks of 4 x 4
// positions become channels), "alexnet-rest" (without conv1), "googlenet" (of its inception modules, as SCNN
// counts them) or "vgg16". Shares of AlexNet and VGG16 as Han et al. publish them (Learning both
// Weights and Connections, NIPS 2015, tables 4 and 5; a layer's activations are those that the layer before
// it leaves), whose pruning SCNN uses. GoogLeNet's are in a picture only: a half of either, which is the
// factor of four in work that SCNN calls typical.
std::vector<InferenceLayer> inference_layers(const std::string& network);

// Such a network with its zeros at random; `density`: this share of non-zeros in all operands instead.
// `relative`: a recording of the same convolutions, as whose activations the zeros of activations cluster.
Trace inference_network(const std::string& network, std::optional<double> density, std::uint64_t seed,
                        const Trace* relative = nullptr);

}  // namespace lacuna::reproduce
