// Settings of the comparison with PyTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::bench {

struct TorchSpec {
  std::vector<std::string> networks;  // built-in models or .yaml files; none: vgg-small, vgg16, resnet18
  std::vector<std::string> settings;  // key=value, of the models
  std::vector<std::string> prune = {"none"};
  double prune_zeros = 0.9;
  std::string python;                          // "": $PYTHON, python3, /usr/bin/python3
  std::vector<std::string> dropped_variables;  // "NAME=VALUE" that Python does not inherit
  std::string data = "shapes";
  int image_size = 0;  // 0: that of the data set
  std::string initial;
  std::int64_t steps_before = 20;
  std::int64_t steps = 0;  // timed, of each side; 0: as many as `seconds` holds
  double rate = 0.01;
  std::int64_t batch = 32;
  int threads = 0;  // 0: all cores
  int rounds = 5;
  double seconds = 5;
  std::string precision = "float32";  // of auto
  bool exact = false;                 // auto leaves out Winograd
};

}  // namespace lacuna::bench
