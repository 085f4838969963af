// One step of the engine on a random problem, as plain tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/layers/network.hpp"

namespace lacuna::train::twin {

inline constexpr std::uint64_t kDropoutSeed = 77;

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

double largest(const std::vector<float>& values);  // magnitude
// The largest difference between two tensors in units of the largest value of the first.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lacuna::train::twin
