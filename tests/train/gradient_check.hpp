// The engine against its twin: outputs of every layer, the loss, and gradients against central differences of
// the twin's loss in double precision.
#pragma once

#include <cstdint>

#include "train/double_net.hpp"
#include "train/engine_step.hpp"

namespace lacuna::train::twin {

struct CheckOptions {
  std::int64_t batch = 3;
  Kernels kernels = Kernels::kDense;
  int threads = 1;
  std::uint64_t seed = 1;
  bool training = true;  // false: forward only, with running statistics and without dropout
  int samples = 12;      // coordinates of each parameter
  int node_samples = 3;  // coordinates of each layer's output
  // Gradients may differ by 1e-4 of the largest in their tensor plus this share of the largest in all
  // tensors.
  double noise = 2e-6;
};

// How many derivatives were computed, and how many of them were not compared because a ReLU or max pool
// decides differently within every step that was tried.
struct Probes {
  int made = 0;
  int skipped = 0;
  bool settled =
      true;  // false: every batch has values so near an edge that single precision may decide differently
};
// Adds failures to the running test.
Probes probe_network(const Graph& graph, const CheckOptions& options);
// Also fails if no batch was found or more than a tenth of the derivatives was skipped.
void check_network(const Graph& graph, const CheckOptions& options);
// With dense and with zero-skipping kernels.
void check_both(const Graph& graph, CheckOptions options = {});

}  // namespace lacuna::train::twin
