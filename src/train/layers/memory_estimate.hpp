// Memory that a training takes, from its graph alone: checked before anything is allocated, because the
// system would kill the program without a message.
#pragma once

#include "train/layers/network.hpp"

namespace lacuna::train {

// In bytes. Doubles: the sizes of a graph that is refused may not fit in 64 bits. What oneDNN allocates for
// itself and the data set are not included; its scratchpad, which is one for all layers, is.
struct MemoryEstimate {
  double activations = 0;  // outputs of layers, for the whole batch
  double gradients = 0;    // of those outputs
  double weights = 0;      // values, gradients and states of the optimizer
  double workspace = 0;    // of kernels and layers, the batch of images

  double total() const { return activations + gradients + weights + workspace; }
};

MemoryEstimate estimate_memory(const Graph& graph, const NetworkOptions& options);

// Returns the same options, without Winograd where that alone takes the training over `limit` bytes. Throws
// InputError, with the estimate and what would fit, if it needs more all the same.
NetworkOptions fit_memory(const Graph& graph, const NetworkOptions& options, double limit);
// Returns the memory of this machine or container, or less where `ulimit -v` or `ulimit -d` says so.
double memory_limit();

}  // namespace lacuna::train
