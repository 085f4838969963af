// What `lacuna train` and `lacuna demo` share: a data set, a network that fits it, a trainer.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "train/run/fit_model.hpp"
#include "train/run/kernel_times.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::cli {

struct TrainSetup {
  std::string model = "vgg-small";
  std::vector<std::string> model_settings;  // key=value
  std::string data = "shapes";
  dataset::DatasetOptions data_options;
  std::int64_t batch = 32;
  std::string kernels = "auto";
  int threads = 0;
  train::SparsifyOptions sparsify;
  double learnt_samples = 1;
  int quantize_bits = 0;
  std::string precision = "float32";
  std::optional<bool> exact;  // as asked for
};

train::Kernels parse_kernels(const std::string& name);
// Throws InputError where this CPU, or these kernels, have it not.
train::Precision parse_precision(const std::string& name, train::Kernels kernels);

// Whether Winograd is left out. By default where a user asks for results that can be relied on to the bit:
// kernels that are not chosen by timings, and traces. Winograd turns sums of nothing but zeros into small
// numbers, and the zeros are what a trace is for.
bool leaves_out_winograd(const TrainSetup& setup, bool records);

// Milliseconds per layer and operation, with dense kernels and with the others.
std::string kernels_table(const train::KernelTimes& times, const TextStyle& style);

}  // namespace lacuna::cli
