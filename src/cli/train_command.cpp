// lacuna train: the built-in training engine.
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/progress_bar.hpp"
#include "cli/terminal.hpp"
#include "cli/train_log.hpp"
#include "cli/train_setup.hpp"
#include "trace/trace_writer.hpp"

namespace lacuna::cli {
namespace {

struct TrainCommand {
  TrainSetup setup;
  train::TrainOptions options;
  std::string schedule = "cosine";
  std::string prune = "none";
  double epochs = 10;
  std::int64_t steps = 0;
  std::string out = "lacuna-train";
  bool resume = false;
  bool list = false;
  std::int64_t checkpoint_every = 0;
  std::int64_t test_every = 0;
  std::int64_t report_every = 0;
  std::int64_t record_every = 0;
  train::RecordOptions record;
  std::string initial;
  int compare = 0;
};

// Ctrl-C: the first ends the run after its step, the second ends the program.
std::atomic<bool> stop_asked = false;
extern "C" void ask_to_stop(int signal) {
  stop_asked = true;
  std::signal(signal, SIG_DFL);
}

class StopOnSignal {
 public:
  StopOnSignal()
      : interrupt_(std::signal(SIGINT, ask_to_stop)), terminate_(std::signal(SIGTERM, ask_to_stop)) {
    stop_asked = false;
  }
  ~StopOnSignal() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGTERM, terminate_);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

void print_models() {
  TextTable table(
      {{"model", Align::kLeft}, {"about", Align::kLeft}, {"parameters, with --set", Align::kLeft}});
  for (const train::ModelSummary& model : train::built_in_models()) {
    std::string settings;
    for (const train::ModelParameter& parameter : model.parameters)
      settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", parameter.name, parameter.value);
    table.add_row({model.name, model.about, settings});
  }
  print_text(table.render(output_style()));
}

// The run as a loop over steps that reports, tests, records and saves when it is time.
class TrainRun {
 public:
  explicit TrainRun(TrainCommand command) : c_(std::move(command)), folder_(c_.out) {
    data_ = dataset::open_dataset(c_.setup.data, c_.setup.data_options);
    settings_ = fit_model(c_.setup, *data_.train);
    network_.emplace(train::open_model(c_.setup.model, settings_),
                     train::NetworkOptions{c_.setup.batch, parse_kernels(c_.setup.kernels),
                                           resolve_threads(c_.setup.threads)},
                     [this](double share) { bar_.update(share, "measuring kernels"); });
    bar_.clear();
    const std::int64_t epoch = data_.train->size() / c_.setup.batch;
    if (c_.steps == 0)
      c_.steps = std::max<std::int64_t>(1, std::llround(c_.epochs * static_cast<double>(epoch)));
    c_.options.steps = c_.steps;
    c_.options.schedule.kind = train::parse_schedule(c_.schedule);
    if (c_.options.schedule.warmup < 0) c_.options.schedule.warmup = c_.steps / 20;
    c_.options.pruning.method = train::parse_pruning(c_.prune);
    c_.options.pruning.seed = c_.options.seed;
    if (c_.options.pruning.until == 0) c_.options.pruning.until = c_.steps * 3 / 4;
    if (c_.report_every == 0) c_.report_every = std::min(epoch, std::max<std::int64_t>(1, c_.steps / 10));
    if (c_.test_every == 0) c_.test_every = std::max(epoch, c_.report_every);
    if (c_.checkpoint_every == 0) c_.checkpoint_every = std::max(epoch, c_.report_every);
    trainer_.emplace(*network_, data_, c_.options);
    if (!c_.initial.empty()) train::load_parameters(c_.initial, network_->parameters());
  }

  void run() {
    prepare_folder();
    introduce();
    TrainLog log(folder_ / "log.csv", trainer_->step());
    const StopOnSignal signals;
    start_ = Clock::now();
    first_step_ = trainer_->step();
    begin_line();
    while (!trainer_->done() && !stop_asked) {
      one_step();
      const std::int64_t step = trainer_->step();
      const bool last = trainer_->done() || stop_asked;
      if (step % c_.report_every == 0 || last) report(log, last || step % c_.test_every == 0);
      if (step % c_.checkpoint_every == 0 || last) trainer_->save(checkpoint(), extra_settings());
    }
    bar_.clear();
    if (trainer_->done()) {
      if (c_.compare > 0) compare();
      print("\ncheckpoint and log are in {}{}\n", folder_.string(),
            recorded_ == 0 ? ""
                           : fmt::format("; {} traces: lacuna inspect {}", recorded_,
                                         (folder_ / "trace_*.zst").string()));
      return;
    }
    print("\nstopped after step {} of {}; the same command with --resume goes on\n", trainer_->step(),
          c_.steps);
    exit_with(128 + SIGINT);
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path checkpoint() const { return folder_ / "checkpoint.safetensors"; }
  train::Settings extra_settings() const {
    return {{"model_settings", describe_settings(settings_)},
            {"data_seed", std::to_string(c_.setup.data_options.seed)}};
  }

  void prepare_folder() {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error || !std::filesystem::is_directory(folder_))
      throw InputError(folder_.string(), "the folder cannot be made", "give another one with --out");
    const bool exists = std::filesystem::exists(checkpoint());
    if (c_.resume && !exists)
      throw InputError(checkpoint().string(), "there is no checkpoint to go on from",
                       "leave out --resume, or name its --out");
    if (!c_.resume && exists)
      throw InputError(checkpoint().string(), "a run has been saved there",
                       "go on with it (--resume), give another folder (--out), or remove it");
    if (c_.resume) trainer_->resume(checkpoint(), extra_settings());
    nlohmann::ordered_json config{{"lacuna", version()},         {"model", c_.setup.model},
                                  {"model_settings", settings_}, {"data", c_.setup.data},
                                  {"kernels", c_.setup.kernels}, {"threads", network_->options().threads}};
    for (const auto& [key, value] : trainer_->settings())
      if (!config.contains(key)) config[key] = value;
    write_file(folder_ / "config.json", config.dump(2) + "\n");
  }

  void introduce() {
    const train::Graph& graph = network_->graph();
    print("{} ({}): {} parameters, {:.3g} million multiplications an image\n", printable(c_.setup.model),
          describe_settings(settings_), grouped_digits(graph.parameters()),
          static_cast<double>(graph.macs()) * 1e-6);
    print("{}: {} images to train with, {} to test\n", printable(data_.train->name()),
          grouped_digits(data_.train->size()), grouped_digits(data_.test->size()));
    print("{} kernels, {} threads, batch {}, {} steps{}\n\n", c_.setup.kernels, network_->options().threads,
          c_.setup.batch, grouped_digits(c_.steps),
          trainer_->step() > 0 ? fmt::format(", going on from step {}", trainer_->step()) : "");
    print("{:>8} {:>7} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8}{} {:>9}\n", "steps", "epoch", "loss", "accuracy",
          "on test", "images/s", "zeros A", "zeros G", trainer_->pruning() ? "  zeros W" : "", "time left");
  }

  // The same steps with dense kernels and with this run's.
  void compare() {
    const train::Kernels kernels = network_->options().kernels == train::Kernels::kDense
                                       ? train::Kernels::kSparse
                                       : network_->options().kernels;
    const train::KernelTimes times =
        time_kernels(*network_, *trainer_, kernels, c_.compare,
                     [this](double share) { bar_.update(share, "timing kernels"); });
    bar_.clear();
    print("\ndense against {} kernels on {} more batches, turn by turn; wall clock, medians\n",
          kernels_name(kernels), times.steps);
    print_text(kernels_table(times, output_style()));
    const auto images = 1e3 * static_cast<double>(times.batch);
    print(
        "a step, forward and backward: {:.1f} images/s dense, {:.1f} {}: {:.2f}x; layers after the first "
        "{:.2f}x\n",
        images / times.dense_step_ms, images / times.other_step_ms, kernels_name(kernels), times.step_speedup,
        times.layers_speedup);
    write_file(folder_ / "kernels.csv", kernel_times_csv(times));
  }

  void begin_line() {
    line_steps_ = 0;
    line_correct_ = 0;
    line_loss_ = line_seconds_ = 0;
  }

  void one_step() {
    const std::int64_t step = trainer_->step();
    const bool record = c_.record_every > 0 && step % c_.record_every == 0;
    std::optional<Trace> trace;
    const train::StepReport done = trainer_->run_step(record ? &c_.record : nullptr, &trace);
    if (trace) {
      write_trace(*trace, folder_ / fmt::format("trace_{:06}.safetensors.zst", step));
      ++recorded_;
    }
    ++line_steps_;
    line_loss_ += done.loss;
    line_correct_ += done.correct;
    line_seconds_ += done.seconds;
    last_ = done;
    bar_.update(
        static_cast<double>(trainer_->step() - first_step_) / static_cast<double>(c_.steps - first_step_),
        fmt::format("step {} of {}, loss {:.3f}", trainer_->step(), c_.steps, done.loss));
  }

  void report(TrainLog& log, bool test) {
    TrainLine line;
    const auto images = static_cast<double>(line_steps_ * c_.setup.batch);
    line.step = trainer_->step();
    line.epoch = trainer_->epoch();
    line.loss = line_loss_ / static_cast<double>(line_steps_);
    line.accuracy = static_cast<double>(line_correct_) / images;
    line.rate = last_.rate;
    line.images_per_second = images / line_seconds_;
    line.zeros = trainer_->zeros();
    if (trainer_->pruning() != nullptr) line.weight_zeros = trainer_->pruning()->zero_share();
    if (test) line.test = trainer_->test();
    bar_.clear();
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const double left =
        elapsed / static_cast<double>(line.step - first_step_) * static_cast<double>(c_.steps - line.step);
    print("{:>8} {:>7.2f} {:>8.4f} {:>7.1f} % {:>9} {:>9.0f} {:>6.1f} % {:>6.1f} %{} {:>9}\n", line.step,
          line.epoch, line.loss, 100 * line.accuracy,
          line.test ? fmt::format("{:.1f} %", 100 * line.test->accuracy) : "", line.images_per_second,
          100 * line.zeros.activations, 100 * line.zeros.gradients,
          trainer_->pruning() != nullptr ? fmt::format(" {:>6.1f} %", 100 * line.weight_zeros) : "",
          duration_text(left));
    flush_output();
    log.add(line);
    begin_line();
  }

  TrainCommand c_;
  std::filesystem::path folder_;
  ProgressBar bar_;
  dataset::DatasetPair data_;
  train::ModelSettings settings_;
  std::optional<train::Network> network_;
  std::optional<train::Trainer> trainer_;
  Clock::time_point start_;
  std::int64_t first_step_ = 0;
  std::int64_t line_steps_ = 0, line_correct_ = 0, recorded_ = 0;
  double line_loss_ = 0, line_seconds_ = 0;
  train::StepReport last_;
};

void run_train(const TrainCommand& command) {
  if (command.list) {
    print_models();
    return;
  }
  TrainRun(command).run();
}

void add_model_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--model", c.setup.model, "A built-in model (--list) or a .yaml file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      .add_option("--set", c.setup.model_settings,
                  "Change a parameter of the model; size, channels and classes follow the data")
      ->allow_extra_args(false)
      ->type_name("key=value");
  command.add_flag("--list", c.list, "Name the built-in models and exit");
  command
      .add_option("--init", c.initial,
                  "Start from the parameters in this file (a checkpoint, or names and shapes alike)")
      ->type_name("FILE");
  command
      .add_option("--kernels", c.setup.kernels,
                  "dense: oneDNN; sparse: skip zeros; auto: whichever is expected to be faster, call by call")
      ->type_name("dense|sparse|auto")
      ->capture_default_str();
  command.add_option("--threads", c.setup.threads, "Threads (default: all cores)")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N");
}

void add_data_options(CLI::App& command, TrainCommand& c) {
  command
      .add_option(
          "--data", c.setup.data,
          "shapes (built in), cifar10:DIR, cifar100:DIR, mnist:DIR, folder:DIR, or a DIR that is recognised")
      ->type_name("SET")
      ->capture_default_str();
  command
      .add_option("--size", c.setup.data_options.image_size,
                  "Height and width of images (default: the set's own)")
      ->check(CLI::Range(8, 4096).description(""))
      ->type_name("N");
  command.add_option("--train-size", c.setup.data_options.train_size, "Use this many images (default: all)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command
      .add_option("--test-size", c.setup.data_options.test_size, "Test with this many images (default: all)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command.add_flag("--flip", c.options.flip, "Mirror every other image by chance");
  command.add_option("--crop", c.options.crop_padding, "Shift images by chance, by at most this many pixels")
      ->check(CLI::Range(0, 512).description(""))
      ->type_name("N");
}

void add_optimizer_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--batch", c.setup.batch, "Images a step")
      ->check(CLI::Range(1, 65536).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--epochs", c.epochs, "Times over the images")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--steps", c.steps, "Steps, instead of --epochs")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command.add_option("--lr", c.options.schedule.rate, "Learning rate")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--schedule", c.schedule, "How the rate falls")
      ->type_name("cosine|step|constant")
      ->capture_default_str();
  command
      .add_option("--warmup", c.options.schedule.warmup,
                  "Steps over which the rate grows from zero (default: a twentieth of them)")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N");
  command.add_option("--momentum", c.options.sgd.momentum, "Momentum")
      ->check(CLI::Range(0.0, 0.9999).description(""))
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--weight-decay", c.options.sgd.weight_decay, "Weight decay")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--seed", c.options.seed,
                  "Weights, order of images and everything else drawn follow from it")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--prune", c.prune,
                  "Keep most weights at zero while training: sm (sparse momentum) or ds (dynamic sparse "
                  "reparameterisation)")
      ->type_name("none|sm|ds")
      ->capture_default_str();
  command.add_option("--prune-zeros", c.options.pruning.zeros, "Share of weights that are zero")
      ->check(CLI::Range(0.0, 0.999).description(""))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--prune-every", c.options.pruning.every, "Steps between changes of which weights are zero")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N")
      ->capture_default_str();
}

void add_output_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--out", c.out, "Folder for checkpoint.safetensors, log.csv, config.json and traces")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--compare", c.compare,
                  "At the end, time dense kernels and this run's on STEPS more batches")
      ->check(CLI::Range(1, 100'000).description(""))
      ->type_name("STEPS");
  command.add_flag("--resume", c.resume, "Go on from the folder's checkpoint, exactly as if never stopped");
  command.add_option("--record", c.record_every, "Write a trace of every EVERYth step, the first included")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("EVERY");
  command
      .add_option("--samples", c.record.samples,
                  "Images of the batch in a trace; linear layers always have all")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--values", c.record.values, "Values beside the masks of non-zeros in traces");
  command
      .add_option("--checkpoint-every", c.checkpoint_every, "Steps between checkpoints (default: an epoch)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command.add_option("--test-every", c.test_every, "Steps between tests (default: an epoch)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  command
      .add_option("--report-every", c.report_every,
                  "Steps between lines (default: an epoch or a tenth of the run)")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("train", "Train a network here, with dense or zero-skipping kernels");
  const auto options = std::make_shared<TrainCommand>();
  options->options.schedule.rate = 0.02;
  options->options.schedule.warmup = -1;
  add_model_options(*command, *options);
  add_data_options(*command, *options);
  add_optimizer_options(*command, *options);
  add_output_options(*command, *options);
  add_examples(
      *command,
      {{"lacuna train", "the small network on the built-in images"},
       {"lacuna train --model resnet18 --data cifar10:cifar-10-batches-bin --flip --crop 4", "CIFAR-10"},
       {"lacuna train --record 100 --values", "with a trace of every hundredth step"},
       {"lacuna train --model my.yaml --data folder:images --size 224 --kernels sparse", "your own"},
       {"lacuna train --resume", "go on after Ctrl-C"},
       {"lacuna train --compare 20", "at the end, what skipping zeros gives on this CPU"}});
  command->callback([options] { run_train(*options); });
}

}  // namespace lacuna::cli
