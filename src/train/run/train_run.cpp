#include "train/run/train_run.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/io/same_file.hpp"
#include "base/parallel.hpp"
#include "trace/format/trace_writer.hpp"
#include "train/run/checkpoint.hpp"
#include "train/run/run_config.hpp"

namespace lacuna::train {

constexpr const char* kLogHeader =
    "steps,epoch,loss,train_accuracy,test_loss,test_accuracy,learning_rate,images_per_second,zeros_A,zeros_G,"
    "zeros_W\n";

// log.csv: one line per report; a resumed run keeps them.
class TrainLog {
 public:
  // A new file, or with `from_step` one whose lines up to that step are kept.
  TrainLog(std::filesystem::path path, std::int64_t from_step) : path_(std::move(path)) {
    std::string kept = kLogHeader;
    std::error_code ignored;
    // A link to a file of /proc, which has no size and may never end, counts as empty.
    if (from_step > 0 && std::filesystem::file_size(path_, ignored) != 0) {
      std::ifstream before(path_);
      std::string line;
      std::int64_t last = 0;
      // A line that was cut off (by a full disk, a lost machine) does not end, or has too few fields.
      while (std::getline(before, line) && !before.eof()) {
        std::int64_t step = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
        if (error != std::errc() || *end != ',' || step <= last || step > from_step) continue;
        if (std::ranges::count(line, ',') != std::ranges::count(std::string_view(kLogHeader), ',')) continue;
        kept += line + "\n";
        last = step;
      }
    }
    write_file(path_, kept, OutputFile::Links::kRefuse);
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file_ < 0) fail(std::strerror(errno));
  }
  ~TrainLog() { ::close(file_); }
  TrainLog(const TrainLog&) = delete;
  TrainLog& operator=(const TrainLog&) = delete;

  // Throws InputError when it cannot be written.
  void add(const TrainLine& line) {
    const std::string test =
        line.test ? fmt::format("{:.6g},{:.6g}", line.test->loss, line.test->accuracy) : ",";
    const std::string text =
        fmt::format("{},{:.6g},{:.6g},{:.6g},{},{:.6g},{:.1f},{:.4f},{:.4f},{:.4f}\n", line.step, line.epoch,
                    line.loss, line.accuracy, test, line.rate, line.images_per_second, line.zeros.activations,
                    line.zeros.gradients, line.weight_zeros);
    ssize_t written = 0;
    do written = ::write(file_, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    if (written != static_cast<ssize_t>(text.size()))
      fail(written < 0 ? std::strerror(errno) : "the disk is full");
    if (!still_names(path_, file_)) fail("it was removed or replaced while the run wrote to it");
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw InputError(path_.string(), fmt::format("the log cannot be written: {}", reason),
                     "the last checkpoint is untouched: continue from it (--resume)");
  }

  std::filesystem::path path_;
  int file_ = -1;
};

TrainRun::TrainRun(TrainSpec spec, RunObserver& observer) : spec_(std::move(spec)), observer_(observer) {
  // Bad input is refused before anything is created, measured or allocated.
  check(spec_);
  data_ = dataset::open_dataset(spec_.data, spec_.images);
  settings_ = fit_model(spec_.model, spec_.model_settings, *data_.train);
  graph_ = open_model(spec_.model, settings_);
  const dataset::Loader loads(*data_.train, {.batch = static_cast<int>(spec_.network.batch),
                                             .crop_padding = spec_.training.crop_padding});
  // A file that cannot be used must not wait for kernels to be measured.
  if (!spec_.initial.empty() && !spec_.resume) check_parameters(spec_.initial);
  folder_.emplace(spec_.out, spec_.resume                                ? RunFolder::Use::kResume
                             : spec_.replaces_demo && is_demo(spec_.out) ? RunFolder::Use::kReplace
                                                                         : RunFolder::Use::kNew);
  settle(spec_, loads.steps_per_epoch());
}

void TrainRun::build() {
  spec_.network.threads = resolve_threads(spec_.network.threads);
  spec_.network.optimizer_states = kOptimizers[spec_.training.optimizer.kind].states;
  network_.emplace(std::move(graph_), spec_.network,
                   [this](double share) { observer_.progress(share, "measuring kernels"); });
  // Too little memory leaves out Winograd, too.
  spec_.exact = !network_->options().allow_winograd;
  trainer_.emplace(*network_, data_, spec_.training);
  // A resumed run has its parameters in the checkpoint; the file may be gone.
  if (!spec_.initial.empty() && !spec_.resume) trainer_->start_from(spec_.initial);
  if (!spec_.resume) return;
  trainer_->resume(folder_->checkpoint(), extra_settings());
  if (trainer_->step() > spec_.training.steps)
    throw InputError(
        folder_->checkpoint().string(),
        fmt::format("it is at step {}, beyond the {} asked for", trainer_->step(), spec_.training.steps),
        "ask for more (--steps, --epochs)");
}

bool TrainRun::run() {
  build();
  write_file(folder_->config(), config_json(), OutputFile::Links::kRefuse);
  folder_->wrote(folder_->config());
  observer_.begin();
  // A line that was waiting for its test is written now.
  const bool owed = trainer_->line().untested.has_value();
  TrainLog log(folder_->log(), trainer_->step() - (owed ? 1 : 0));
  folder_->wrote(folder_->log());
  first_step_ = trainer_->step();
  saved_ = spec_.resume ? first_step_ : -1;
  bool whole = !owed || report(log, true);
  if (owed && whole) save();
  while (whole && !trainer_->done() && !observer_.stop()) {
    one_step();
    const std::int64_t step = trainer_->step();
    const bool test = trainer_->done() || step % spec_.test_every == 0;
    if (test || step % spec_.report_every == 0) whole = report(log, test);
    if (whole && (trainer_->done() || step % spec_.checkpoint_every == 0)) save();
  }
  if (whole && trainer_->done()) {
    check_folder();
    return true;
  }
  // No line is added to the log here: it must equal the log of a run that was never stopped.
  if (saved_ != trainer_->step()) save();
  check_folder();
  return false;
}

bool TrainRun::records(std::int64_t step) const {
  return (spec_.record_every > 0 && step % spec_.record_every == 0) ||
         std::ranges::find(spec_.record_steps, step) != spec_.record_steps.end();
}

void TrainRun::one_step() {
  const std::int64_t step = trainer_->step();
  std::optional<Trace> trace;
  last_ = trainer_->run_step(records(step) ? &spec_.record : nullptr, &trace);
  if (trace) {
    write_trace(*trace, folder_->trace(step), {}, OutputFile::Links::kRefuse);
    ++traces_;
    observer_.recorded(*trace);
  }
  ++timed_steps_;
  timed_seconds_ += last_.seconds;
  tested_.reset();
  const std::int64_t steps = spec_.training.steps;
  observer_.progress(
      static_cast<double>(trainer_->step() - first_step_) / static_cast<double>(steps - first_step_),
      fmt::format("step {} of {}, loss {:.3f}", trainer_->step(), steps, last_.loss));
}

bool TrainRun::report(TrainLog& log, bool test) {
  const LineSums& sums = trainer_->line();
  const auto steps = static_cast<double>(sums.steps);
  const auto batch = static_cast<double>(spec_.network.batch);
  TrainLine line;
  line.step = trainer_->step();
  line.epoch = trainer_->epoch();
  line.loss = sums.loss / steps;
  line.accuracy = static_cast<double>(sums.correct) / (steps * batch);
  line.rate = trainer_->last_rate();
  if (const auto& held = sums.untested) {
    line.zeros = {held->activation_zeros, held->gradient_zeros};
    line.images_per_second = held->images_per_second;
  } else {
    line.zeros = trainer_->zeros();
    line.images_per_second = static_cast<double>(timed_steps_) * batch / timed_seconds_;
  }
  line.weight_zeros = trainer_->weight_zeros().value_or(0);
  if (test) {
    line.test = trainer_->test_unless([this] { return observer_.stop(); });
    if (!line.test) {
      trainer_->hold_line({line.zeros.activations, line.zeros.gradients, line.images_per_second});
      return false;
    }
    tested_ = line.test;
  }
  observer_.line(line);
  log.add(line);
  trainer_->end_line();
  timed_steps_ = 0;
  timed_seconds_ = 0;
  return true;
}

Settings TrainRun::extra_settings() const {
  return {{"model_settings", describe_settings(settings_)}, {"data_seed", std::to_string(spec_.images.seed)}};
}

void TrainRun::save() {
  folder_->check({});
  if (!trainer_->save(folder_->checkpoint(), extra_settings())) return;
  folder_->wrote(folder_->checkpoint());
  saved_ = trainer_->step();
  folder_->check({folder_->config(), folder_->log()});
}

void TrainRun::check_folder() const {
  std::vector<std::filesystem::path> files{folder_->config(), folder_->log()};
  if (saved_ >= 0) files.push_back(folder_->checkpoint());
  folder_->check(files);
}

std::string TrainRun::config_json() const {
  return run_config_json(spec_, settings_, data_, network_->graph(), trainer_->settings());
}

KernelTimes TrainRun::time_kernels(Kernels kernels, int steps) {
  KernelTimes times = train::time_kernels(*network_, *trainer_, kernels, steps, [this](double share) {
    observer_.progress(share, "timing kernels");
  });
  write_file(folder_->kernels(), kernel_times_csv(times), OutputFile::Links::kRefuse);
  return times;
}

double TrainRun::test_accuracy() { return tested_ ? tested_->accuracy : trainer_->test().accuracy; }

double TrainRun::train_dense() {
  NetworkOptions everything = network_->options();
  everything.sparsify = {};
  everything.learnt_samples = 1;
  everything.quantize_bits = 0;
  everything.pruned = false;
  TrainOptions options = spec_.training;
  options.pruning = {};
  Network network(network_->graph(), everything);
  Trainer trainer(network, data_, options);
  if (!spec_.initial.empty()) trainer.start_from(spec_.initial);
  while (!trainer.done()) {
    trainer.run_step();
    observer_.progress(static_cast<double>(trainer.step()) / static_cast<double>(options.steps),
                       "dense training");
  }
  return trainer.test().accuracy;
}

}  // namespace lacuna::train
