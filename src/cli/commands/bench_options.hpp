// The options of `lacuna bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/bench_versus_torch.hpp"

namespace lacuna::cli {

struct BenchOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> traces;
  std::vector<std::string> zeros_files;
  std::vector<std::string> ops = {"forward", "input_grad", "weight_grad"};
  std::vector<double> zeros = {0, 20, 40, 50, 60, 70, 80, 90, 95};
  std::vector<std::string> baselines;
  std::string layer;
  std::string impl;
  std::string layout = "blocked";
  std::string zeros_in;
  std::string precision = "float32";
  std::string json, csv, html;
  std::int64_t batch = 16;
  int threads = 1;
  int rounds = 5;
  double seconds = 0.2;
  bool scaling = false;
  bool beside_blocked = false;
  bool no_auto = false;
  bool exact = false;
  bool calibrate = false;
  bool show_calibration = false;
  VersusOptions versus;
};

// With their help and examples.
void add_bench_options(CLI::App& bench, BenchOptions& options);

}  // namespace lacuna::cli
