// Dense against zero-skipping kernels on real training steps: the same weights, the same batches, turn by
// turn.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "train/trainer.hpp"

namespace lacuna::cli {

// Milliseconds a step, medians over the steps; operations in the order of kernels::Op.
struct LayerTimes {
  std::string name;
  bool initial = false;
  std::array<double, 3> dense{};
  std::array<double, 3> sparse{};
};

struct KernelTimes {
  std::vector<LayerTimes> layers;
  int steps = 0;
  // Medians of the ratios of each step's pair: convolutions and linear layers but the first, and whole steps
  // (forward and backward).
  double layers_speedup = 0;
  double step_speedup = 0;
  double dense_step_ms = 0;
  double sparse_step_ms = 0;
};

// `network` is trained already and gives its weights; `trainer` its batches, from `first_step`.
KernelTimes time_kernels(train::Network& network, const train::Trainer& trainer, std::int64_t first_step,
                         int steps, const std::function<void(double)>& progress);

std::string kernel_times_csv(const KernelTimes& times);

}  // namespace lacuna::cli
