// Zeros of a recorded relative, for layers that nobody recorded: `lacuna synth --zeros-like`.
#pragma once

#include <vector>

#include "trace/synthetic/synthetic.hpp"

namespace lacuna {

// Returns for each layer which one of `relative` it resembles: the layer of its name, else the one of its
// kind (depthwise and other convolutions, linear layers, products of activations) that is as far into the
// network, counted in layers of that kind. Where the relative has none of the kind, all its layers count.
std::vector<std::size_t> similar_layers(const std::vector<SyntheticLayer>& layers, const Trace& relative);

// Gives every tensor the share of zeros of the layer that it resembles, clustered as there.
void take_zeros_of(const Trace& relative, std::vector<SyntheticLayer>& layers);

}  // namespace lacuna
