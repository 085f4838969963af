// lacuna train: the built-in training engine.
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/progress_bar.hpp"
#include "cli/terminal.hpp"
#include "cli/train_folder.hpp"
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
std::atomic<int> stop_signal = 0;
extern "C" void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

class StopOnSignal {
 public:
  StopOnSignal()
      : interrupt_(std::signal(SIGINT, ask_to_stop)), terminate_(std::signal(SIGTERM, ask_to_stop)) {}
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
  explicit TrainRun(TrainCommand command) : c_(std::move(command)) {
    // What can be refused is refused before anything is made, measured or allocated.
    const train::Kernels kernels = parse_kernels(c_.setup.kernels);
    c_.options.schedule.kind = train::parse_schedule(c_.schedule);
    c_.options.pruning.method = train::parse_pruning(c_.prune);
    data_ = dataset::open_dataset(c_.setup.data, c_.setup.data_options);
    settings_ = fit_model(c_.setup, *data_.train);
    train::Graph graph = train::open_model(c_.setup.model, settings_);
    const dataset::Loader loads(
        *data_.train, {.batch = static_cast<int>(c_.setup.batch), .crop_padding = c_.options.crop_padding});
    folder_.emplace(c_.out, c_.resume);
    network_.emplace(std::move(graph),
                     train::NetworkOptions{c_.setup.batch, kernels, resolve_threads(c_.setup.threads)},
                     [this](double share) { bar_.update(share, "measuring kernels"); });
    bar_.clear();
    const std::int64_t epoch = data_.train->size() / c_.setup.batch;
    if (c_.steps == 0)
      c_.steps = std::max<std::int64_t>(1, std::llround(c_.epochs * static_cast<double>(epoch)));
    c_.options.steps = c_.steps;
    if (c_.options.schedule.warmup < 0) c_.options.schedule.warmup = c_.steps / 20;
    c_.options.pruning.seed = c_.options.seed;
    if (c_.options.pruning.until == 0) c_.options.pruning.until = c_.steps * 3 / 4;
    if (c_.report_every == 0) c_.report_every = std::min(epoch, std::max<std::int64_t>(1, c_.steps / 10));
    if (c_.test_every == 0) c_.test_every = std::max(epoch, c_.report_every);
    if (c_.checkpoint_every == 0) c_.checkpoint_every = std::max(epoch, c_.report_every);
    trainer_.emplace(*network_, data_, c_.options);
    if (!c_.initial.empty()) trainer_->start_from(c_.initial);
  }

  void run() {
    if (c_.resume) trainer_->resume(folder_->checkpoint(), extra_settings());
    write_config();
    introduce();
    TrainLog log(folder_->path() / "log.csv", trainer_->step());
    const StopOnSignal signals;
    start_ = Clock::now();
    first_step_ = trainer_->step();
    std::int64_t saved = c_.resume ? first_step_ : -1;
    while (!trainer_->done() && stop_signal == 0) {
      one_step();
      const std::int64_t step = trainer_->step();
      const bool test = trainer_->done() || step % c_.test_every == 0;
      if (test || step % c_.report_every == 0) report(log, test);
      if (trainer_->done() || step % c_.checkpoint_every == 0) save(saved);
    }
    bar_.clear();
    if (trainer_->done()) {
      if (c_.compare > 0) compare();
      print("\ncheckpoint and log are in {}{}\n", printable(folder_->path().string()),
            recorded_ == 0 ? ""
                           : fmt::format("; {} traces: lacuna inspect {}", recorded_,
                                         printable((folder_->path() / "trace_*.zst").string())));
      return;
    }
    // The log gets no line here: it shall be that of a run that was never stopped.
    if (saved != trainer_->step()) save(saved);
    print("\nstopped after step {} of {}; the same command with --resume goes on\n", trainer_->step(),
          c_.steps);
    exit_with(128 + stop_signal);
  }

 private:
  using Clock = std::chrono::steady_clock;

  train::Settings extra_settings() const {
    return {{"model_settings", describe_settings(settings_)},
            {"data_seed", std::to_string(c_.setup.data_options.seed)}};
  }

  void save(std::int64_t& saved) {
    trainer_->save(folder_->checkpoint(), extra_settings());
    saved = trainer_->step();
  }

  void write_config() {
    nlohmann::ordered_json config{{"lacuna", version()},         {"model", c_.setup.model},
                                  {"model_settings", settings_}, {"data", c_.setup.data},
                                  {"kernels", c_.setup.kernels}, {"threads", network_->options().threads}};
    for (const auto& [key, value] : trainer_->settings())
      if (!config.contains(key)) config[key] = value;
    // A file's name may be anything.
    write_file(folder_->path() / "config.json",
               config.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
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
    print("a step, forward and backward: {:.1f} images/s dense, {:.1f} {}: {:.2f}x{}\n",
          images / times.dense_step_ms, images / times.other_step_ms, kernels_name(kernels),
          times.step_speedup,
          std::isfinite(times.layers_speedup)
              ? fmt::format("; layers after the first {:.2f}x", times.layers_speedup)
              : "");
    write_file(folder_->path() / "kernels.csv", kernel_times_csv(times));
  }

  void one_step() {
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

  void report(TrainLog& log, bool test) {
    TrainLine line;
    const auto steps = static_cast<double>(trainer_->line().steps);
    const auto batch = static_cast<double>(c_.setup.batch);
    line.step = trainer_->step();
    line.epoch = trainer_->epoch();
    line.loss = trainer_->line().loss / steps;
    line.accuracy = static_cast<double>(trainer_->line().correct) / (steps * batch);
    line.rate = last_.rate;
    line.images_per_second = static_cast<double>(timed_steps_) * batch / timed_seconds_;
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
    trainer_->end_line();
    timed_steps_ = 0;
    timed_seconds_ = 0;
  }

  TrainCommand c_;
  std::optional<TrainFolder> folder_;
  ProgressBar bar_;
  dataset::DatasetPair data_;
  train::ModelSettings settings_;
  std::optional<train::Network> network_;
  std::optional<train::Trainer> trainer_;
  Clock::time_point start_;
  std::int64_t first_step_ = 0;
  std::int64_t recorded_ = 0;
  // Since the last line, in this process; what is learnt since then the trainer knows.
  std::int64_t timed_steps_ = 0;
  double timed_seconds_ = 0;
  train::StepReport last_;
};

void run_train(const TrainCommand& command) {
  if (command.list) {
    print_models();
    return;
  }
  TrainRun(command).run();
}

// CLI11's ranges let "nan" pass, and name their ends with all their digits.
CLI::Validator number(double low, double high, const std::string& wanted) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool read = CLI::detail::lexical_cast(text, value);
            return read && value >= low && value <= high ? std::string() : "give " + wanted;
          },
          ""};
}
CLI::Validator positive_number() {
  return number(std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), "a positive number");
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
      ->check(whole_number(0, 1024))
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
      ->check(whole_number(8, 4096))
      ->type_name("N");
  command.add_option("--train-size", c.setup.data_options.train_size, "Use this many images (default: all)")
      ->check(whole_number(1))
      ->type_name("N");
  command
      .add_option("--test-size", c.setup.data_options.test_size, "Test with this many images (default: all)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--flip", c.options.flip, "Mirror every other image by chance");
  command.add_option("--crop", c.options.crop_padding, "Shift images by chance, by at most this many pixels")
      ->check(whole_number(0, 512))
      ->type_name("N");
}

void add_optimizer_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--batch", c.setup.batch, "Images a step")
      ->check(whole_number(1, 65536))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--epochs", c.epochs, "Times over the images")
      ->check(number(1e-9, 1e6, "a number above 0 and up to 1000000"))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--steps", c.steps, "Steps, instead of --epochs")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--lr", c.options.schedule.rate, "Learning rate")
      ->check(positive_number())
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--schedule", c.schedule, "How the rate falls")
      ->type_name("cosine|step|constant")
      ->capture_default_str();
  command
      .add_option("--warmup", c.options.schedule.warmup,
                  "Steps over which the rate grows from zero (default: a twentieth of them)")
      ->check(whole_number(0))
      ->type_name("N");
  command.add_option("--momentum", c.options.sgd.momentum, "Momentum")
      ->check(number(0, 0.9999, "a number from 0 to 0.9999"))
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--weight-decay", c.options.sgd.weight_decay, "Weight decay")
      ->check(number(0, 1, "a number from 0 to 1"))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--seed", c.options.seed,
                  "Weights, order of images and everything else drawn follow from it")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--prune", c.prune,
                  "Keep most weights at zero while training: sm (sparse momentum) or ds (dynamic sparse "
                  "reparameterisation)")
      ->type_name("none|sm|ds")
      ->capture_default_str();
  command.add_option("--prune-zeros", c.options.pruning.zeros, "Share of weights that are zero")
      ->check(number(0, 0.999, "a number from 0 to 0.999"))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--prune-every", c.options.pruning.every, "Steps between changes of which weights are zero")
      ->check(whole_number(1))
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
      ->check(whole_number(1, 100'000))
      ->type_name("STEPS");
  command.add_flag("--resume", c.resume, "Go on from the folder's checkpoint, exactly as if never stopped");
  command.add_option("--record", c.record_every, "Write a trace of every EVERYth step, the first included")
      ->check(whole_number(1))
      ->type_name("EVERY");
  command
      .add_option("--samples", c.record.samples,
                  "Images of the batch in a trace; linear layers always have all")
      ->check(whole_number(1))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--values", c.record.values, "Values beside the masks of non-zeros in traces");
  command
      .add_option("--checkpoint-every", c.checkpoint_every, "Steps between checkpoints (default: an epoch)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--test-every", c.test_every, "Steps between tests (default: an epoch)")
      ->check(whole_number(1))
      ->type_name("N");
  command
      .add_option("--report-every", c.report_every,
                  "Steps between lines (default: an epoch or a tenth of the run)")
      ->check(whole_number(1))
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
