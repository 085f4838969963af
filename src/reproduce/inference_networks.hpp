// The networks that SCNN is evaluated with, pruned, and how many of their weights and activations are not
// zero.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna::reproduce {

struct InferenceLayer {
  std::string name;
  LayerShape shape;             // of one image
  double weights, activations;  // shares that are not zero
};

// The convolutions of "alexnet", "alexnet-rest" (those of stride 1), "googlenet" (of its inception modules,
// as SCNN counts them) or "vgg16". Shares of AlexNet and VGG16 as Han et al. publish them (Learning both
// Weights and Connections, NIPS 2015, tables 4 and 5; a layer's activations are those that the layer before
// it leaves), whose pruning SCNN uses. GoogLeNet's are in a picture only: a half of either, which is the
// factor of four in work that SCNN calls typical.
std::vector<InferenceLayer> inference_layers(const std::string& network);

// Such a network with its zeros at random; `dense`: without zeros.
Trace inference_network(const std::string& network, bool dense);

}  // namespace lacuna::reproduce
