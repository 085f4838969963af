// `lacuna bench --versus-torch`: whole training steps of this engine and of PyTorch, in turn on one machine.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::cli {

struct VersusOptions {
  std::vector<std::string> networks;
  std::vector<std::string> settings;  // key=value, of the models
  std::vector<std::string> prune = {"none"};
  double prune_zeros = 0.9;
  std::string python;
  std::string data = "shapes";
  int image_size = 0;  // 0: that of the data set
  std::string initial;
  std::int64_t steps_before = 20;
  std::int64_t steps = 0;  // timed, of each side; 0: as many as `seconds` holds
  double rate = 0.01;
  // Options that other benchmarks have as well.
  std::int64_t batch = 32;
  int threads = 0;
  int rounds = 5;
  double seconds = 5;
  std::string precision = "float32";  // of auto
  bool exact = false;                 // auto leaves out Winograd
  std::string json, csv;
};

// The option --versus-torch, and those that belong to it alone.
void add_versus_options(CLI::App& bench, VersusOptions& options);
// Whether it was asked for. Throws InputError for options that do not go together.
bool wants_versus(const CLI::App& bench);
// With what other benchmarks have options for as well, where those were given.
VersusOptions with_shared(const CLI::App& bench, VersusOptions options);
void run_versus_torch(const VersusOptions& options);

}  // namespace lacuna::cli
