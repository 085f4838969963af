// A training run in its folder: a loop over steps that reports, tests, records and saves at its intervals.
// `lacuna train` and `lacuna demo` are this loop with an observer that prints.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/run/kernel_times.hpp"
#include "train/run/run_folder.hpp"
#include "train/run/train_spec.hpp"

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

// Follows a run. All calls come from the thread that trains.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Called when the network is built and a resumed run has its state, before the first step.
  virtual void begin() {}
  virtual void progress(double /*share*/, const std::string& /*what*/) {}
  // Called with a line of the log, before it is written.
  virtual void line(const TrainLine& /*line*/) {}
  virtual void recorded(const Trace& /*trace*/) {}
  // Returns true to stop. Called before each step and each batch of a test.
  virtual bool stop() { return false; }
};

class TrainLog;

class TrainRun {
 public:
  // Opens everything that the run needs. Throws InputError, and leaves nothing behind, if anything is wrong.
  TrainRun(TrainSpec spec, RunObserver& observer);

  // Trains and saves. Returns false if the observer has stopped it; what could be saved is saved then.
  bool run();

  // Throws InputError if the folder, or what run() wrote there, was removed or replaced, after run().
  void check_folder() const;
  // Times the same steps with dense kernels and with those of this run, after run(); writes kernels.csv.
  KernelTimes time_kernels(Kernels kernels, int steps);
  // Trains the same network on the same batches with everything that this run leaves out, after run().
  // Returns the accuracy in the test.
  double train_dense();
  double test_accuracy();

  const TrainSpec& spec() const { return spec_; }  // settled
  const dataset::DatasetPair& data() const { return data_; }
  const ModelSettings& model_settings() const { return settings_; }
  const RunFolder& folder() const { return *folder_; }
  const Network& network() const { return *network_; }
  Trainer& trainer() { return *trainer_; }
  std::string config_json() const;
  std::int64_t first_step() const { return first_step_; }
  std::int64_t saved_step() const { return saved_; }  // of the checkpoint; -1: there is none
  std::int64_t traces() const { return traces_; }     // written
  double last_loss() const { return last_.loss; }

 private:
  void build();
  void save();
  void one_step();
  bool records(std::int64_t step) const;
  // Returns false, and writes no line, if the test was stopped.
  bool report(TrainLog& log, bool test);
  Settings extra_settings() const;

  TrainSpec spec_;
  RunObserver& observer_;
  dataset::DatasetPair data_;
  ModelSettings settings_;
  Graph graph_;
  std::optional<RunFolder> folder_;
  std::optional<Network> network_;
  std::optional<Trainer> trainer_;
  std::int64_t first_step_ = 0;
  std::int64_t saved_ = -1;
  std::int64_t traces_ = 0;
  std::optional<TestReport> tested_;  // the last test, if nothing was learnt since
  // Since the last line, in this process. The trainer keeps loss and accuracy since then.
  std::int64_t timed_steps_ = 0;
  double timed_seconds_ = 0;
  StepReport last_;
};

}  // namespace lacuna::train
