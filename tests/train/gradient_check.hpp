// The engine against its twin: outputs of every layer, the loss, and gradients against central differences of
// the twin's loss in double precision.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/double_net.hpp"
#include "train/network.hpp"

namespace lacuna::train::twin {

struct CheckOptions {
  std::int64_t batch = 3;
  Kernels kernels = Kernels::kDense;
  int threads = 1;
  std::uint64_t seed = 1;
  bool training = true;  // false: forward only, with running statistics and without dropout
  int samples = 12;      // coordinates of each parameter
  int node_samples = 3;  // coordinates of each layer's output
  // Gradients may differ by 1e-4 of the largest of their tensor and by this share of the largest of all.
  double noise = 2e-6;
};

// What one step of the engine gives, as plain tensors.
struct Step {
  LossResult loss;
  std::map<std::string, std::vector<float>> gradients;       // of parameters, by name
  std::map<std::string, std::vector<float>> conv_gradients;  // G as the observer sees it, by layer
  std::map<std::string, std::vector<float>> inputs;          // A as the observer sees it, by layer
  std::vector<std::vector<float>> outputs;                   // by node, plain
  std::vector<std::vector<float>> node_gradients;            // by node, plain; empty for the images
};

// A network with random parameters and a batch for it, both from the seed, single precision.
struct Problem {
  std::map<std::string, std::vector<float>> parameters;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};
Problem draw_problem(const Graph& graph, std::int64_t batch, std::uint64_t seed);

// Sets the parameters. Throws where one is missing.
void load(Network& network, const std::map<std::string, std::vector<float>>& parameters);
// One step on the problem's batch, after one on another batch that must leave no trace.
Step run_step(Network& network, const Problem& problem, bool training = true);
// The tensor without its blocks.
std::vector<float> plain(const Activation& activation, const float* blocked);

// How many derivatives were looked at, and how many of them not compared because a ReLU or a max pool decides
// otherwise within every step that was tried.
struct Probes {
  int made = 0;
  int skipped = 0;
  bool settled = true;  // false: no batch keeps off the edges where single precision may decide otherwise
};
// Adds failures to the running test.
Probes probe_network(const Graph& graph, const CheckOptions& options);
// And one if no batch was found or more than a tenth of the derivatives was skipped.
void check_network(const Graph& graph, const CheckOptions& options);

// The largest difference between two tensors in units of the largest value of the first.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lacuna::train::twin
