// Times dense kernels and others on real training steps: the same weights and batches, interleaved.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::train {

// Milliseconds per step, medians over the steps.
struct LayerTimes {
  std::string name;
  bool initial = false;
  PerOperation<double> dense{};
  PerOperation<double> other{};
  // The operand whose zeros the others skipped, in the last step; nothing where they were dense.
  PerOperation<std::optional<Operand>> skipped{};
};

struct KernelTimes {
  std::vector<LayerTimes> layers;
  int steps = 0;
  Kernels kernels = Kernels::kSparse;  // the others
  Precision precision = Precision::kFloat32;
  std::string other_name() const {
    return precision == Precision::kBfloat16 ? "bfloat16" : kernels_name(kernels);
  }
  std::int64_t batch = 1;
  // Medians of the ratios of each step's pair: convolutions and linear layers but the first, and whole steps
  // (forward and backward).
  double layers_speedup = 0;
  double step_speedup = 0;
  double dense_step_ms = 0;
  double other_step_ms = 0;
};

// Uses the weights of `network`, which is trained already, and the batches of `trainer` from its next step
// on.
KernelTimes time_kernels(Network& network, const Trainer& trainer, Kernels kernels, int steps,
                         const std::function<void(double)>& progress);

std::string kernel_times_csv(const KernelTimes& times);
// Returns a table of milliseconds per layer and operation, with dense kernels and with the others.
std::string kernels_table(const KernelTimes& times, const TextStyle& style);

}  // namespace lacuna::train
