// Trainings small enough for a test: 8x8 images of the built-in set, a few hundred weights, one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing.hpp"
#include "dataset/shapes.hpp"
#include "train/graph/model_file.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::train {

inline constexpr const char* kPlainModel =
    "model: plain\n"
    "layers:\n"
    "  - conv: {name: a, out: 8, kernel: 3, stride: 2}\n"
    "  - relu\n"
    "  - conv: {name: b, out: 8, kernel: 3, padding: 1}\n"
    "  - relu\n"
    "  - linear: {name: c, out: $classes}\n";

// Batch norm (running means must be kept), dropout (drawn from the step), pools, a sum, a concatenation.
inline constexpr const char* kRichModel =
    "model: rich\n"
    "layers:\n"
    "  - conv: {name: a, out: 8, kernel: 3, padding: 1, bias: no}\n"
    "  - batch_norm: {name: norm}\n"
    "  - relu\n"
    "  - max_pool\n"
    "  - dropout: {rate: 0.3}\n"
    "  - residual:\n"
    "      body:\n"
    "        - conv: {name: b, out: 8, kernel: 3, padding: 1, groups: 2}\n"
    "        - scalar_scale: {name: scale}\n"
    "  - relu\n"
    "  - concat: [[], [conv: {name: d, out: 4, kernel: 1}, batch_norm: {name: norm2}, relu]]\n"
    "  - average_pool\n"
    "  - dropout\n"
    "  - linear: {name: c, out: $classes}\n";

struct TinyOptions {
  std::string model = kPlainModel;
  std::int64_t batch = 8;
  std::int64_t train_size = 40;
  std::int64_t test_size = 12;
  Kernels kernels = Kernels::kSparse;
  TrainOptions train{};
  NetworkOptions network{};  // batch, kernels and threads are set

  TinyOptions() {
    train.steps = 12;
    train.schedule.rate = 0.05;
  }
};

inline dataset::DatasetPair tiny_data(const TinyOptions& options) {
  dataset::DatasetOptions data;
  data.image_size = 8;
  data.train_size = options.train_size;
  data.test_size = options.test_size;
  return dataset::open_shapes(data);
}

inline NetworkOptions network_options(const TinyOptions& options) {
  NetworkOptions network = options.network;
  network.batch = options.batch;
  network.kernels = options.kernels;
  network.threads = 1;
  return network;
}

// Data, network and trainer that outlive each other in the right order.
struct TinyRun {
  explicit TinyRun(const TinyOptions& options)
      : data(tiny_data(options)),
        network(parse_model(options.model, "tiny", {{"size", "8"}}), network_options(options)),
        trainer(network, data, options.train) {}

  void run_to(std::int64_t step) {
    while (trainer.step() < step) trainer.run_step();
  }

  dataset::DatasetPair data;
  Network network;
  Trainer trainer;
};

inline std::vector<std::uint8_t> bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<float> values_of(Network& network) {
  std::vector<float> values;
  for (const Parameter* parameter : network.parameters())
    values.insert(values.end(), parameter->value.data(), parameter->value.data() + parameter->value.size());
  return values;
}

// A run that was never stopped, and one that was saved on the way and resumed.
struct ResumedRun {
  explicit ResumedRun(const TinyOptions& options, std::int64_t saved_at = 4, std::int64_t steps = 10)
      : whole(options), begun(options), resumed(options) {
    whole.run_to(steps);
    begun.run_to(saved_at);
    EXPECT_TRUE(begun.trainer.save(file, {}));
    resumed.trainer.resume(file, {});
    resumed.run_to(steps);
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "c";
  TinyRun whole, begun, resumed;
};

}  // namespace lacuna::train
