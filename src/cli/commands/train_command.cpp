// lacuna train: the built-in training engine.
#include <cmath>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/onednn/onednn.hpp"
#include "train/run/run_config.hpp"
#include "train/run/train_run.hpp"

namespace lacuna::cli {
namespace {

using train::TrainSpec;

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

// Prints a run as a table with a line per report.
class Printed final : public train::RunObserver {
 public:
  Printed(const TrainSpec& spec, const std::string& html) : run_(spec, *this), html_(html) {
    check_html(html, {spec.model, spec.initial});  // it may be in the run's folder
  }

  void run() {
    const bool whole = run_.run();
    bar_.clear();
    if (!whole) end_stopped();
    signals_.reset();  // all is saved
    if (output_error_) std::rethrow_exception(output_error_);
    if (run_.spec().compare_steps > 0) compare();
    if (run_.spec().beside_dense) train_dense();
    if (!html_.empty()) write_page();
    print("\ncheckpoint and log are in {}{}\n", printable(run_.folder().path().string()),
          run_.traces() == 0 ? ""
                             : fmt::format("; {}: lacuna inspect {}", counted(run_.traces(), "trace"),
                                           printable((run_.folder().path() / "trace_*.zst").string())));
  }

  void begin() override {
    bar_.clear();
    const TrainSpec& spec = run_.spec();
    const train::NetworkOptions& options = run_.network().options();
    const train::Graph& graph = run_.network().graph();
    print("{} ({}): {} parameters, {:.3g} million multiplications per image\n", printable(spec.model),
          train::describe_settings(run_.model_settings()), grouped_digits(graph.parameters()),
          static_cast<double>(graph.macs()) * 1e-6);
    print("{}: {} for training, {} for testing\n", printable(run_.data().train->name()),
          counted(run_.data().train->size(), "image"), grouped_digits(run_.data().test->size()));
    const bool leaves_out = options.kernels == train::Kernels::kAuto && !options.allow_winograd;
    const std::int64_t step = run_.trainer().step();
    print("{} kernels, {}{}{}, batch {}, {}{}\n\n", train::kernels_name(options.kernels),
          leaves_out ? "exact, " : "", options.precision == train::Precision::kBfloat16 ? "bfloat16, " : "",
          counted(options.threads, "thread"), options.batch, counted(spec.training.steps, "step"),
          step > 0 ? fmt::format(", resumed at step {}", step) : "");
    weight_zeros_ = run_.trainer().weight_zeros().has_value();
    print("{:>8} {:>7} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8}{} {:>9}\n", "steps", "epoch", "loss", "train acc",
          "test acc", "images/s", "zeros A", "zeros G", weight_zeros_ ? "  zeros W" : "", "time left");
    signals_.emplace();
    start_ = seconds_now();
  }

  void progress(double share, const std::string& what) override { bar_.update(share, what); }

  void line(const train::TrainLine& line) override {
    bar_.clear();
    const double elapsed = seconds_now() - start_;
    const auto done = static_cast<double>(std::max<std::int64_t>(line.step - run_.first_step(), 1));
    const double left = elapsed / done * static_cast<double>(run_.spec().training.steps - line.step);
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

  bool stop() override { return stop_signal() != 0 || output_error_; }

 private:
  void compare() {
    const train::NetworkOptions& options = run_.network().options();
    const bool dense =
        options.precision == train::Precision::kFloat32 && options.kernels == train::Kernels::kDense;
    times_ = run_.time_kernels(dense ? train::Kernels::kSparse : options.kernels, run_.spec().compare_steps);
    bar_.clear();
    print("\ndense and {} kernels on {} more batch{}, interleaved; medians of wall-clock time\n",
          times_->other_name(), times_->steps, times_->steps == 1 ? "" : "es");
    print_text(train::kernels_table(*times_, output_style()));
    const auto images = 1e3 * static_cast<double>(times_->batch);
    print("whole steps (forward and backward): {:.1f} images/s dense, {:.1f} images/s {}, {:.2f}x{}\n",
          images / times_->dense_step_ms, images / times_->other_step_ms, times_->other_name(),
          times_->step_speedup,
          std::isfinite(times_->layers_speedup)
              ? fmt::format("; layers after the first: {:.2f}x", times_->layers_speedup)
              : "");
  }

  void train_dense() {
    const double dense = run_.train_dense();
    bar_.clear();
    print("\ntest accuracy after {}: {:.1f} %, dense training {:.1f} %\n",
          counted(run_.spec().training.steps, "step"), 100 * run_.test_accuracy(), 100 * dense);
  }

  void write_page() const {
    std::vector<std::pair<std::string, std::string>> parts{
        {"train", train_part(run_.config_json(), run_.folder().log())}};
    if (times_) parts.emplace_back("kernels", kernels_part(*times_));
    write_html(html_, "train", std::move(parts));
  }

  std::string stopped_text() {
    const std::int64_t step = run_.trainer().step(), saved = run_.saved_step();
    const std::string lost =
        saved == step ? ""
        : saved < 0   ? fmt::format("; not saved: its loss is {:.3g}", run_.last_loss())
                      : fmt::format("; not saved: its loss is {:.3g}; the checkpoint of step {} is unchanged",
                                    run_.last_loss(), saved);
    return fmt::format(
        "stopped after step {} of {}{}{}", step, run_.spec().training.steps, lost,
        saved < 0 ? "" : fmt::format("; to continue: lacuna train --resume {}", printable(run_.spec().out)));
  }

  [[noreturn]] void end_stopped() {
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

  ProgressBar bar_;
  train::TrainRun run_;
  std::string html_;
  std::optional<StopOnSignal> signals_;
  double start_ = 0;
  bool weight_zeros_ = false;                // a column of the table
  std::optional<train::KernelTimes> times_;  // of --compare
  // The table could not be written (a closed pipe, a full disk, a lost terminal): the run saves and ends.
  std::exception_ptr output_error_;
};

// Memory that is allocated beyond the estimate (oneDNN's own, other programs') may still fail.
void train(const TrainSpec& spec, const std::string& html) {
  const InputError out_of_memory("train", "out of memory",
                                 "use a smaller batch (--batch), smaller images (--size) or fewer threads");
  try {
    Printed(spec, html).run();
  } catch (const std::bad_alloc&) {
    throw out_of_memory;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw out_of_memory;
    throw;
  }
}

void add_option(CLI::App& command, const train::TrainOption& option, TrainSpec& spec) {
  if (option.group.empty()) return;
  const std::string name = "--" + option.spec.name;
  if (option.is_flag()) {
    command
        .add_flag_function(
            name, [&](std::int64_t count) { option.give(spec, count > 0 ? "on" : "off"); }, option.spec.help)
        ->group(option.group);
    return;
  }
  CLI::Option* added =
      command
          .add_option_function<std::string>(
              name, [&](const std::string& text) { option.give(spec, text); }, option.spec.help)
          ->check(CLI::Validator([&](std::string& text) { return option.problem(text); }, ""))
          ->type_name(option.placeholder)
          ->group(option.group);
  if (option.get(spec) && option.spec.default_value != "0") added->default_str(option.spec.default_value);
}

void resume(TrainSpec& spec, const std::string& folder) {
  spec.resume = true;
  if (!folder.empty()) {
    if (spec.given.contains("out") && spec.out != folder)
      throw InputError("--out " + spec.out, fmt::format("a run continues in its own folder, '{}'", folder),
                       "leave out --out; to keep the old state, copy the folder first");
    spec.out = folder;
  }
  train::take_over_config(spec);
}

struct Command {
  TrainSpec spec;
  std::string resumed;  // empty: the folder of --out
  std::string html;
  bool list = false;
};

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("train", "Train a network on this CPU, with dense or zero-skipping kernels");
  const auto asked = std::make_shared<Command>();
  const auto& options = train::train_options();
  add(*command, "--set", asked->spec.model_settings, "key=value",
      "Change a parameter of the model; size, channels and classes follow the data")
      ->allow_extra_args(false)
      ->group(options.front().group);
  command->add_flag("--list", asked->list, "Name the built-in models and exit")->group(options.front().group);
  for (const train::TrainOption& option : options) add_option(*command, option, asked->spec);
  std::string may_change = "--epochs";
  for (const train::TrainOption& option : options)
    if (option.may_change && option.group != options.back().group) may_change += ", --" + option.spec.name;
  CLI::Option* resumed =
      add(*command, "--resume", asked->resumed, "[DIR]",
          fmt::format("Continue the run in DIR (default: that of --out) as if it had never "
                      "stopped. Its options need not be given again; {} and what it writes may "
                      "change",
                      may_change))
          ->expected(0, 1)
          ->group(options.back().group);
  add_html_option(*command, asked->html);
  command->get_option("--html")->group(options.back().group);
  add_examples(
      *command,
      {{"lacuna train", "the small network on the built-in images"},
       {"lacuna train --model resnet18 --data cifar10:cifar-10-batches-bin --flip --crop 4", "CIFAR-10"},
       {"lacuna train --record 100 --values", "with a trace of every hundredth step"},
       {"lacuna train --model my.yaml --data folder:images --size 224 --kernels sparse",
        "your own network and images"},
       {"lacuna train --model wrn-16-8 --data cifar10:cifar-10-batches-bin --sparsify swat --density 0.1 "
        "--record 100",
        "sparse training, recorded as it multiplies"},
       {"lacuna train --selective-backprop 0.5 --beside-dense",
        "learn from the harder half of each batch; accuracy compared with dense training"},
       {"lacuna train --quantize 4 --record 100", "weights and activations of four bits"},
       {"lacuna train --resume", "continue after Ctrl-C"},
       {"lacuna train --resume lacuna-train --epochs 20", "train for longer than was asked for at first"},
       {"lacuna train --compare 20", "and measure at the end what skipping zeros gains on this CPU"}});
  command->callback([asked, resumed] {
    if (asked->list) return print_models();
    if (resumed->count() > 0) resume(asked->spec, asked->resumed);
    train(asked->spec, asked->html);
  });
}

}  // namespace lacuna::cli
