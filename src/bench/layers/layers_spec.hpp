// Settings of the measurements: layers, operations, shares of zeros and what to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv.hpp"

namespace lacuna::bench {

struct LayersSpec {
  std::vector<std::string> shapes;  // lists of layers (read_shapes()); without traces: vgg16 and resnet50
  std::vector<std::string> traces;  // their convolutions with their own zeros
  std::vector<std::string> ops = {"forward", "input_grad", "weight_grad"};
  std::vector<double> zeros = {0, 20, 40, 50, 60, 70, 80, 90, 95};  // percent, at random places
  std::vector<std::string> baselines;  // more of oneDNN's: direct, winograd, gemm, best
  std::string layer;                   // only layers whose name contains this
  std::string impl;                    // a name of kernels::describe_impls(); "": sparse, auto for traces
  std::string layout = "blocked";      // blocked, nchw, nhwc
  std::string zeros_in;                // data, weights, both; "": data, both for traces and auto
  std::string precision = "float32";   // float32, bfloat16
  std::int64_t batch = 16;
  int threads = 1;  // 0: all cores
  int rounds = 5;
  double seconds = 0.2;         // at least, per layer and operation
  bool beside_blocked = false;  // time the same on blocked tensors
  bool with_auto = true;        // time oneDNN's own choice of algorithm
  bool exact = false;           // auto leaves out Winograd
};

}  // namespace lacuna::bench
