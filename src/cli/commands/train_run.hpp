// A run of `lacuna train`: a loop over steps that reports, tests, records and saves at its intervals.
#pragma once

#include <chrono>
#include <exception>
#include <optional>

#include "cli/commands/train_folder.hpp"
#include "cli/commands/train_log.hpp"
#include "cli/commands/train_options.hpp"
#include "cli/terminal/progress_bar.hpp"

namespace lacuna::cli {

class TrainRun {
 public:
  // Throws InputError, and leaves nothing behind, if anything is wrong.
  explicit TrainRun(TrainCommand command);
  void run();

 private:
  using Clock = std::chrono::steady_clock;

  // What is multiplied: checks what goes together.
  void settle_sparsity();
  // Fills in the options that the user left out.
  void settle_options();
  train::Settings extra_settings() const;
  void save();
  bool exact() const;  // Winograd is left out
  std::string config_json() const;
  void write_config() const;
  void write_page() const;
  void introduce() const;
  void one_step();
  // False, and no line is written, if the test was stopped.
  bool report(TrainLog& log, bool test);
  void print_line(const TrainLine& line);
  // Times the same steps with dense kernels and with those of this run.
  void compare();
  // Trains the same network on the same batches with everything that this run leaves out.
  void train_dense();
  void conclude();
  bool stopped() const;
  // Ends a run that was stopped and has saved what it could.
  [[noreturn]] void end_stopped() const;
  std::string stopped_text() const;

  TrainCommand c_;
  std::optional<TrainFolder> folder_;
  ProgressBar bar_;
  dataset::DatasetPair data_;
  train::ModelSettings settings_;
  std::optional<train::Network> network_;
  std::optional<train::Trainer> trainer_;
  Clock::time_point start_;
  std::int64_t first_step_ = 0;
  bool weight_zeros_ = false;                // a column of the table
  std::optional<train::TestReport> tested_;  // the last test
  std::int64_t saved_ = -1;                  // the step of the checkpoint
  std::int64_t recorded_ = 0;
  // Since the last line, in this process. The trainer keeps loss and accuracy since then.
  std::int64_t timed_steps_ = 0;
  double timed_seconds_ = 0;
  train::StepReport last_;
  std::optional<train::KernelTimes> times_;  // of --compare
  // The table could not be written (a closed pipe, a full disk, a lost terminal): the run saves and ends.
  std::exception_ptr output_error_;
};

}  // namespace lacuna::cli
