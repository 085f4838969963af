// Training speed of all sides as a table, JSON and CSV.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "bench/machine.hpp"

namespace lacuna::bench {

// Settings of the comparison with PyTorch.
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
  std::string wait = "auto";          // one of kTorchWaits
};

// How threads of PyTorch wait for each other: as OpenMP has them by default (they spin for a while), asleep
// (OMP_WAIT_POLICY=passive), or in whichever of the two ways a network trains faster.
inline constexpr std::array kTorchWaits = {"auto", "default", "passive"};

// The sides that train the same network on the same images.
enum class Side { kTorchContiguous, kTorchChannelsLast, kDense, kAuto };
inline constexpr std::array kSides = {Side::kTorchContiguous, Side::kTorchChannelsLast, Side::kDense,
                                      Side::kAuto};
// Returns the name in JSON and CSV.
inline const char* side_name(Side side) {
  constexpr std::array kNames = {"torch_contiguous", "torch_channels_last", "dense", "auto"};
  return kNames[static_cast<std::size_t>(side)];
}

struct TorchCase {
  std::string network;
  std::string settings;  // of the model: "classes=10 size=32"
  std::string prune;     // "none", "sm", "ds"
  double prune_zeros = 0;
  bool rounded = false;  // auto multiplies in bfloat16
  bool passive = false;  // threads of PyTorch sleep while they wait
  std::int64_t parameters = 0;
  double activation_zeros = 0, gradient_zeros = 0, weight_zeros = 0;  // of the last step
  double winograd = 0;                                                // share of auto's products by it
  std::int64_t steps_before = 0;                                      // trained before the comparison
  int compared_losses = 0;                                            // steps whose losses were compared
  // The largest between two sides, relative to the loss where that is above 1: in the first step, whose
  // weights are equal, and in all of them.
  double first_difference = 0, loss_difference = 0;
  double waited = 0;  // share of the time of its threads in which they waited for a core that others used
  std::int64_t block_steps = 0;
  // Images per second, one number per block; the blocks of one round have the same place.
  std::array<std::vector<double>, kSides.size()> speeds;

  std::size_t rounds() const { return speeds.back().size(); }
  double speed(Side side) const;  // median over the blocks
  Side best_torch() const;
  // Returns how many times as fast `side` is as `other`, median over the rounds.
  double ratio(Side side, Side other) const;
  bool losses_agree() const;
  std::string title() const;  // "resnet18, sm 90 %"
};

struct TorchReport {
  std::vector<TorchCase> cases;
  Machine machine;
  TorchSpec spec;
  std::string torch, python, data;
  std::string blas;            // of PyTorch's linear layers; "": not known
  std::array<int, 3> image{};  // channels, height, width
  bool complete = true;        // false: stopped by a signal or a failure
};

bool losses_agree(const TorchReport& report);  // of all networks

std::string torch_text(const TorchReport& report, const TextStyle& style);
Json torch_json(const TorchReport& report);
std::string torch_csv(const TorchReport& report);

}  // namespace lacuna::bench
