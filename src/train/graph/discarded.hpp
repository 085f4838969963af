// Gradients that nobody needs: those of values that a ReLU has made zero.
#pragma once

#include "train/graph/graph.hpp"

namespace lacuna::train {

// Returns true if the gradient of a node's output is multiplied by zero wherever the output is zero: it comes
// out of a ReLU, through layers that let zeros of the ReLU alone become zeros and hand the gradient of a zero
// back to a zero.
bool discards_gradient_of_zeros(const Graph& graph, int node);

}  // namespace lacuna::train
