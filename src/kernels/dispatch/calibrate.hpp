#pragma once

#include "kernels/conv.hpp"
#include "kernels/dispatch/cost_model.hpp"

namespace lacuna::kernels {

// The cost of this convolution on this machine: from the cache, or measured now (some tens of calls on random
// data in memory of its own) and stored there.
CostCurve calibrated_cost(const LayerShape& shape, const ConvOptions& options);

}  // namespace lacuna::kernels
