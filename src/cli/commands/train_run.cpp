#include "cli/commands/train_run.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/commands/train_config.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "trace/format/trace_writer.hpp"

namespace lacuna::cli {

TrainRun::TrainRun(TrainCommand command) : c_(std::move(command)) {
  // Bad input is refused before anything is created, measured or allocated.
  const train::Kernels kernels = parse_kernels(c_.setup.kernels);
  const train::Precision precision = parse_precision(c_.setup.precision, kernels);
  c_.options.schedule.kind = train::parse_schedule(c_.schedule);
  c_.options.pruning.method = train::parse_pruning(c_.prune);
  settle_sparsity();
  data_ = dataset::open_dataset(c_.setup.data, c_.setup.data_options);
  settings_ = train::fit_model(c_.setup.model, c_.setup.model_settings, *data_.train);
  train::Graph graph = train::open_model(c_.setup.model, settings_);
  const dataset::Loader loads(
      *data_.train, {.batch = static_cast<int>(c_.setup.batch), .crop_padding = c_.options.crop_padding});
  folder_.emplace(c_.out, c_.resume);
  check_html(c_.html, {c_.setup.model, c_.initial});  // may be in that folder
  settle_options();
  network_.emplace(std::move(graph),
                   train::NetworkOptions{c_.setup.batch, kernels, resolve_threads(c_.setup.threads),
                                         c_.setup.sparsify, c_.setup.learnt_samples, c_.setup.quantize_bits,
                                         c_.options.pruning.method != train::PruningOptions::Method::kNone,
                                         precision, !exact()},
                   [this](double share) { bar_.update(share, "measuring kernels"); });
  bar_.clear();
  trainer_.emplace(*network_, data_, c_.options);
  weight_zeros_ = trainer_->weight_zeros().has_value();
  // A run that goes on has its parameters in the checkpoint; the file may be gone.
  if (!c_.initial.empty() && !c_.resume) trainer_->start_from(c_.initial);
}

void TrainRun::settle_sparsity() {
  train::SparsifyOptions& sparsify = c_.setup.sparsify;
  sparsify.method = train::parse_sparsify(c_.sparsify);
  const bool on = sparsify.method != train::SparsifyOptions::Method::kNone;
  if (on && c_.options.pruning.method != train::PruningOptions::Method::kNone)
    throw InputError("--sparsify " + c_.sparsify, "weights that are pruned stay zero anyway",
                     "leave out --prune or --sparsify");
  if (on && c_.setup.quantize_bits > 0)
    throw InputError(fmt::format("--quantize {}", c_.setup.quantize_bits),
                     "values cannot be both quantized and sparsified", "leave out --quantize or --sparsify");
  if (c_.beside_dense && !on && c_.setup.quantize_bits == 0 && c_.setup.learnt_samples >= 1 &&
      c_.options.pruning.method == train::PruningOptions::Method::kNone)
    throw InputError("--beside-dense", "this run is dense itself",
                     "add --sparsify, --selective-backprop, --quantize or --prune, or leave it out");
  if (!on && c_.density > 0)
    throw InputError("--density", "it belongs to --sparsify", "say which method, or leave it out");
  if (c_.density > 0) sparsify.density = c_.density;
  if (!sparsify.reuses() && c_.sparsify_warmup >= 0)
    throw InputError("--sparsify-warmup", "only resprop has a warm-up", "leave it out, or use --warmup");
}

void TrainRun::settle_options() {
  const std::int64_t epoch = data_.train->size() / c_.setup.batch;
  if (c_.steps == 0)
    c_.steps = std::max<std::int64_t>(1, std::llround(c_.epochs * static_cast<double>(epoch)));
  c_.options.steps = c_.steps;
  if (c_.setup.sparsify.reuses())
    c_.setup.sparsify.warmup = c_.sparsify_warmup >= 0 ? c_.sparsify_warmup : c_.steps / 10;
  if (c_.options.schedule.warmup < 0) c_.options.schedule.warmup = c_.steps / 20;
  c_.options.pruning.seed = c_.options.seed;
  if (c_.options.pruning.until == 0) c_.options.pruning.until = c_.steps * 3 / 4;
  if (c_.report_every == 0) c_.report_every = std::min(epoch, std::max<std::int64_t>(1, c_.steps / 10));
  if (c_.test_every == 0) c_.test_every = std::max(epoch, c_.report_every);
  if (c_.checkpoint_every == 0) c_.checkpoint_every = std::max(epoch, c_.report_every);
}

void TrainRun::run() {
  if (c_.resume) {
    trainer_->resume(folder_->checkpoint(), extra_settings());
    if (trainer_->step() > c_.steps)
      throw InputError(folder_->checkpoint().string(),
                       fmt::format("it is at step {}, beyond the {} asked for", trainer_->step(), c_.steps),
                       "ask for more (--steps, --epochs)");
  }
  write_config();
  introduce();
  // A line that was waiting for its test is written now.
  const bool owed = trainer_->line().untested.has_value();
  TrainLog log(folder_->path() / "log.csv", trainer_->step() - (owed ? 1 : 0));
  std::optional<StopOnSignal> signals(std::in_place);
  start_ = Clock::now();
  first_step_ = trainer_->step();
  saved_ = c_.resume ? first_step_ : -1;
  bool whole = !owed || report(log, true);
  if (owed && whole) save();
  while (whole && !trainer_->done() && !stopped()) {
    one_step();
    const std::int64_t step = trainer_->step();
    const bool test = trainer_->done() || step % c_.test_every == 0;
    if (test || step % c_.report_every == 0) whole = report(log, test);
    if (whole && (trainer_->done() || step % c_.checkpoint_every == 0)) save();
  }
  bar_.clear();
  if (whole && trainer_->done()) {
    signals.reset();  // all is saved
    if (output_error_) std::rethrow_exception(output_error_);
    if (c_.compare > 0) compare();
    if (c_.beside_dense) train_dense();
    write_page();
    conclude();
    return;
  }
  // No line is added to the log here: it must equal the log of a run that was never stopped.
  if (saved_ != trainer_->step()) save();
  end_stopped();
}

bool TrainRun::stopped() const { return stop_signal() != 0 || output_error_; }

train::Settings TrainRun::extra_settings() const {
  return {{"model_settings", train::describe_settings(settings_)},
          {"data_seed", std::to_string(c_.setup.data_options.seed)}};
}

void TrainRun::save() {
  if (trainer_->save(folder_->checkpoint(), extra_settings())) saved_ = trainer_->step();
}

void TrainRun::write_config() const { write_file(folder_->path() / "config.json", config_json()); }

bool TrainRun::exact() const { return leaves_out_winograd(c_.setup, c_.record_every > 0); }

std::string TrainRun::config_json() const {
  return train_config_json(c_, settings_, data_, *network_, trainer_->settings());
}

void TrainRun::write_page() const {
  if (c_.html.empty()) return;
  std::vector<std::pair<std::string, std::string>> parts{
      {"train", train_part(config_json(), folder_->path() / "log.csv")}};
  if (times_) parts.emplace_back("kernels", kernels_part(*times_));
  write_html(c_.html, "train", std::move(parts));
}

void TrainRun::introduce() const {
  const train::Graph& graph = network_->graph();
  print("{} ({}): {} parameters, {:.3g} million multiplications per image\n", printable(c_.setup.model),
        train::describe_settings(settings_), grouped_digits(graph.parameters()),
        static_cast<double>(graph.macs()) * 1e-6);
  print("{}: {} for training, {} for testing\n", printable(data_.train->name()),
        counted(data_.train->size(), "image"), grouped_digits(data_.test->size()));
  const bool leaves_out =
      network_->options().kernels == train::Kernels::kAuto && !network_->options().allow_winograd;
  print("{} kernels, {}{}{}, batch {}, {}{}\n\n", c_.setup.kernels, leaves_out ? "exact, " : "",
        network_->options().precision == train::Precision::kBfloat16 ? "bfloat16, " : "",
        counted(network_->options().threads, "thread"), c_.setup.batch, counted(c_.steps, "step"),
        trainer_->step() > 0 ? fmt::format(", resumed at step {}", trainer_->step()) : "");
  print("{:>8} {:>7} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8}{} {:>9}\n", "steps", "epoch", "loss", "train acc",
        "test acc", "images/s", "zeros A", "zeros G", weight_zeros_ ? "  zeros W" : "", "time left");
}

void TrainRun::compare() {
  const bool float32 = network_->options().precision == train::Precision::kFloat32;
  const train::Kernels kernels = float32 && network_->options().kernels == train::Kernels::kDense
                                     ? train::Kernels::kSparse
                                     : network_->options().kernels;
  const train::KernelTimes times =
      time_kernels(*network_, *trainer_, kernels, c_.compare,
                   [this](double share) { bar_.update(share, "timing kernels"); });
  bar_.clear();
  print("\ndense and {} kernels on {} more batch{}, in turn; medians of wall-clock time\n",
        times.other_name(), times.steps, times.steps == 1 ? "" : "es");
  print_text(kernels_table(times, output_style()));
  const auto images = 1e3 * static_cast<double>(times.batch);
  print("whole steps (forward and backward): {:.1f} images/s dense, {:.1f} images/s {}, {:.2f}x{}\n",
        images / times.dense_step_ms, images / times.other_step_ms, times.other_name(), times.step_speedup,
        std::isfinite(times.layers_speedup)
            ? fmt::format("; layers after the first: {:.2f}x", times.layers_speedup)
            : "");
  write_file(folder_->path() / "kernels.csv", kernel_times_csv(times));
  times_ = times;
}

void TrainRun::train_dense() {
  train::NetworkOptions everything = network_->options();
  everything.sparsify = {};
  everything.learnt_samples = 1;
  everything.quantize_bits = 0;
  everything.pruned = false;
  train::TrainOptions options = c_.options;
  options.pruning = {};
  train::Network network(network_->graph(), everything);
  train::Trainer trainer(network, data_, options);
  if (!c_.initial.empty()) trainer.start_from(c_.initial);
  while (!trainer.done()) {
    trainer.run_step();
    bar_.update(static_cast<double>(trainer.step()) / static_cast<double>(c_.steps), "dense training");
  }
  bar_.clear();
  const double own = tested_ ? tested_->accuracy : trainer_->test().accuracy;
  print("\ntest accuracy after {}: {:.1f} %, dense training {:.1f} %\n", counted(c_.steps, "step"), 100 * own,
        100 * trainer.test().accuracy);
}

void TrainRun::one_step() {
  const std::int64_t step = trainer_->step();
  const bool record = c_.record_every > 0 && step % c_.record_every == 0;
  std::optional<Trace> trace;
  const train::StepReport done = trainer_->run_step(record ? &c_.record : nullptr, &trace);
  if (trace) {
    write_trace(*trace, folder_->path() / fmt::format("trace_{:06}.safetensors.zst", step));
    ++recorded_;
  }
  ++timed_steps_;
  timed_seconds_ += done.seconds;
  last_ = done;
  bar_.update(
      static_cast<double>(trainer_->step() - first_step_) / static_cast<double>(c_.steps - first_step_),
      fmt::format("step {} of {}, loss {:.3f}", trainer_->step(), c_.steps, done.loss));
}

bool TrainRun::report(TrainLog& log, bool test) {
  TrainLine line;
  const auto steps = static_cast<double>(trainer_->line().steps);
  const auto batch = static_cast<double>(c_.setup.batch);
  line.step = trainer_->step();
  line.epoch = trainer_->epoch();
  line.loss = trainer_->line().loss / steps;
  line.accuracy = static_cast<double>(trainer_->line().correct) / (steps * batch);
  line.rate = trainer_->last_rate();
  if (const auto& held = trainer_->line().untested) {
    line.zeros = {held->activation_zeros, held->gradient_zeros};
    line.images_per_second = held->images_per_second;
  } else {
    line.zeros = trainer_->zeros();
    line.images_per_second = static_cast<double>(timed_steps_) * batch / timed_seconds_;
  }
  line.weight_zeros = trainer_->weight_zeros().value_or(0);
  if (test) {
    line.test = trainer_->test_unless([this] { return stopped(); });
    if (!line.test) {
      trainer_->hold_line({line.zeros.activations, line.zeros.gradients, line.images_per_second});
      return false;
    }
  }
  tested_ = line.test;
  print_line(line);
  log.add(line);
  trainer_->end_line();
  timed_steps_ = 0;
  timed_seconds_ = 0;
  return true;
}

void TrainRun::print_line(const TrainLine& line) {
  bar_.clear();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto done = static_cast<double>(std::max<std::int64_t>(line.step - first_step_, 1));
  const double left = elapsed / done * static_cast<double>(c_.steps - line.step);
  const std::string text = fmt::format(
      "{:>8} {:>7.2f} {:>8.4f} {:>7.1f} % {:>9} {:>9.0f} {:>6.1f} % {:>6.1f} %{} {:>9}\n", line.step,
      line.epoch, line.loss, 100 * line.accuracy,
      line.test ? fmt::format("{:.1f} %", 100 * line.test->accuracy) : "", line.images_per_second,
      100 * line.zeros.activations, 100 * line.zeros.gradients,
      weight_zeros_ ? fmt::format(" {:>6.1f} %", 100 * line.weight_zeros) : "", duration_text(left));
  try {
    print_text(text);
    flush_output();
  } catch (...) {
    output_error_ = std::current_exception();
  }
}

void TrainRun::conclude() {
  print("\ncheckpoint and log are in {}{}\n", printable(folder_->path().string()),
        recorded_ == 0 ? ""
                       : fmt::format("; {}: lacuna inspect {}", counted(recorded_, "trace"),
                                     printable((folder_->path() / "trace_*.zst").string())));
}

std::string TrainRun::stopped_text() const {
  const std::string lost =
      saved_ == trainer_->step() ? ""
      : saved_ < 0               ? fmt::format("; not saved: its loss is {:.3g}", last_.loss)
                   : fmt::format("; not saved: its loss is {:.3g}; the checkpoint of step {} is unchanged",
                                 last_.loss, saved_);
  return fmt::format(
      "stopped after step {} of {}{}{}", trainer_->step(), c_.steps, lost,
      saved_ < 0 ? "" : fmt::format("; to continue: lacuna train --resume {}", printable(c_.out)));
}

void TrainRun::end_stopped() const {
  if (stop_signal() == 0) {
    try {
      std::rethrow_exception(output_error_);
    } catch (const InputError& error) {
      throw InputError(error.where(), error.cause(), stopped_text());
    }  // BrokenPipe: nobody reads
  }
  try {
    print("\n{}\n", stopped_text());
    flush_output();
  } catch (...) {  // the terminal may be gone: the exit code tells
  }
  exit_with(128 + stop_signal());
}

}  // namespace lacuna::cli
