// The log of a training run: one line per report; a resumed run keeps them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "train/run/trainer.hpp"

namespace lacuna::train {

// One line of the table and of the log: means since the previous line.
struct TrainLine {
  std::int64_t step = 0;  // steps done
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // on the training batches
  std::optional<TestReport> test;
  double rate = 0;
  double images_per_second = 0;
  ZeroReport zeros;
  double weight_zeros = 0;  // of pruned layers; 0 without pruning
};

class TrainLog {
 public:
  // A new file, or with `from_step` one whose lines up to that step are kept.
  TrainLog(std::filesystem::path path, std::int64_t from_step);
  // Throws InputError when it cannot be written.
  void add(const TrainLine& line);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace lacuna::train
