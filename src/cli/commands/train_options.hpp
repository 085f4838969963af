// What `lacuna train` is asked to do, and its options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/commands/train_setup.hpp"

namespace lacuna::cli {

// Zero (for warmup: a negative number) stands for a default that depends on the data.
struct TrainCommand {
  TrainSetup setup;
  train::TrainOptions options;
  std::string schedule = "cosine";
  std::string prune = "none";
  std::string sparsify = "none";
  double density = 0;
  std::int64_t sparsify_warmup = -1;
  double epochs = 10;
  std::int64_t steps = 0;
  std::string out = "lacuna-train";
  bool resume = false;
  std::string resumed;  // the folder given with --resume; empty: that of --out
  bool list = false;
  std::int64_t checkpoint_every = 0;
  std::int64_t test_every = 0;
  std::int64_t report_every = 0;
  std::int64_t record_every = 0;
  train::RecordOptions record;
  std::string initial;
  int compare = 0;
  bool beside_dense = false;
  std::string html;
};

void add_train_options(CLI::App& command, TrainCommand& options);

}  // namespace lacuna::cli
