// A training run: batches, steps, schedule, pruning, recording, checkpoints. Prints nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/loader.hpp"
#include "train/layers/network.hpp"
#include "train/optimizer/rate_schedule.hpp"
#include "train/run/checkpoint.hpp"
#include "train/run/recorder.hpp"

namespace lacuna::train {

struct TrainOptions {
  std::int64_t steps = 1000;
  RateSchedule schedule;  // its `steps` is set from `steps`
  OptimizerOptions optimizer;
  PruningOptions pruning;
  std::uint64_t seed = 1;
  bool flip = false;
  int crop_padding = 0;
};

struct StepReport {
  std::int64_t step = 0;  // the step that was done
  double loss = 0;
  std::int64_t correct = 0;
  double rate = 0;
  double seconds = 0;       // of the whole step
  double load_seconds = 0;  // of them, reading the batch
};

struct TestReport {
  double loss = 0;
  double accuracy = 0;  // 0..1
};

// Shares of zeros in A and G, weighted by the multiplications of all layers but the first.
struct ZeroReport {
  double activations = 0;
  double gradients = 0;
};

class Trainer {
 public:
  // Draws the weights (Network::initialize) and masks. Everything outlives the trainer.
  Trainer(Network& network, const dataset::DatasetPair& data, const TrainOptions& options);

  std::int64_t step() const { return state_.step; }  // the next step
  std::int64_t steps_per_epoch() const { return loader_.steps_per_epoch(); }
  double epoch() const { return static_cast<double>(step()) / static_cast<double>(steps_per_epoch()); }
  bool done() const { return step() >= options_.steps; }

  // Trains one step; with `record`, records its trace too. Throws InputError when the loss is NaN or
  // infinite, or has been far above that of guessing for many steps.
  StepReport run_step(const RecordOptions* record = nullptr, std::optional<Trace>* trace = nullptr);
  // Loads the batch of a step, as run_step() trains with it.
  void load(std::int64_t step, float* images, std::int32_t* labels) const {
    loader_.load(step, images, labels);
  }
  TestReport test(const dataset::Dataset& data) {
    return *test(data, [] { return false; });
  }
  TestReport test() { return test(*data_.test); }
  // Asks `stop` before each batch and returns nothing once it says so.
  std::optional<TestReport> test_unless(const std::function<bool()>& stop) { return test(*data_.test, stop); }
  ZeroReport zeros() const;
  // Returns the share of zeros among the weights of the layers that are pruned or sparsified; nothing without
  // either.
  std::optional<double> weight_zeros();
  const Pruning* pruning() const { return pruning_ ? &*pruning_ : nullptr; }
  // Returns sums over the steps since the last end_line(); a checkpoint keeps them.
  const LineSums& line() const { return state_.line; }
  void end_line() { state_.line = {}; }
  // Keeps a line that is complete but for its test, which was stopped: a resumed run begins with it.
  void hold_line(const UntestedLine& line) { state_.line.untested = line; }
  double last_rate() const { return options_.schedule.at(step() - 1); }

  // Replaces the drawn parameters by those in a file (load_parameters). Throws InputError.
  void start_from(const std::filesystem::path& path);
  // Saves the state. If it or its loss is NaN or infinite, throws InputError and leaves the saved one in
  // place. Runs the network forward on the last batch, without changing what it has learnt. Returns false,
  // and writes nothing, while the loss is far above that of guessing (after the last step: InputError).
  bool save(const std::filesystem::path& path, const Settings& settings);
  void resume(const std::filesystem::path& path, const Settings& settings);
  // Returns the settings that decide what is learnt, for a checkpoint's header.
  Settings settings() const;
  // Returns the facts about a step that layers need.
  Pass pass(std::int64_t step, bool training) const;

 private:
  void weights_changed();
  std::optional<TestReport> test(const dataset::Dataset& data, const std::function<bool()>& stop);

  Network& network_;
  const dataset::DatasetPair& data_;
  TrainOptions options_;
  dataset::Loader loader_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Pruning> pruning_;
  TrainingState state_;
  double far_loss_ = 0;         // a training whose loss stays above it has diverged
  std::int64_t far_steps_ = 0;  // steps in a row above it
  double last_loss_ = 0;
  std::uint64_t weights_version_ = 0;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

}  // namespace lacuna::train
