// lacuna bench: the CPU kernels against oneDNN and PyTorch on this machine.

#include "base/error.hpp"
#include "base/text/json.hpp"
#include "bench/calibration/calibration.hpp"
#include "bench/layers/layers_bench.hpp"
#include "bench/torch/torch_bench.hpp"
#include "bench/training/whole_training.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/thread_waiting.hpp"

namespace lacuna::cli {
namespace {

// Options of layers, training and calibrate.
struct LayersCommand {
  bench::LayersSpec spec;
  std::vector<std::string> tables;  // training
  bool scaling = false;             // layers
  bool show = false;                // calibrate
  ResultFiles files;

  void check_files() const {
    std::vector<std::string> inputs = spec.traces;
    inputs.insert(inputs.end(), spec.shapes.begin(), spec.shapes.end());
    inputs.insert(inputs.end(), tables.begin(), tables.end());
    files.check(inputs);
  }
};

bench::Control with_bar(ProgressBar& bar) {
  return {[&bar](double share, const std::string& what) { bar.update(share, what); },
          [&bar](const std::string& line) {
            bar.clear();
            print_error(line);
          },
          [] { return stop_signal() != 0; }};
}

void exit_if_stopped() {
  if (stop_signal() != 0) exit_with(128 + stop_signal());
}

// Ctrl-C ends it after the rounds that are being timed; what was measured so far is kept.
bench::LayersReport measure(const bench::LayersPlan& plan) {
  ProgressBar bar;
  bench::LayersReport report = measure_layers(plan, with_bar(bar));
  bar.clear();
  if (report.jobs_done < report.jobs)
    print_error(fmt::format("stopped after {} of {} measurements", report.jobs_done, report.jobs));
  if (report.cases.empty()) exit_if_stopped();
  return report;
}

void write_layers(const LayersCommand& command, const bench::LayersReport& report, const std::string& json,
                  const std::string& text) {
  const ResultFiles& files = command.files;
  if (!files.html.empty()) write_html(files.html, "bench", {{"bench", json}});
  if (!files.json.empty()) write_result(files.json, json);
  if (!files.csv.empty()) write_result(files.csv, bench::layers_csv(report.cases));
  if (!files.quiet()) {
    print_text(text + bench::calibration_note());
    if (!command.spec.baselines.empty())
      print_text(crossover_table(bench::crossovers(report.cases), output_style()));
  }
  exit_if_stopped();
}

void run_scaling(const bench::LayersPlan& plan) {
  if (plan.spec.precision == "bfloat16")
    throw InputError("--precision bfloat16", "it does not go with --scaling", "leave out --scaling");
  const StopOnSignal signals;
  std::vector<bench::ScalingCase> all;
  print_text(bench::scaling_header(plan.spec.threads));
  measure_scaling(plan, {.stop = [] { return stop_signal() != 0; }}, [&](const bench::ScalingCase& scaling) {
    print_text(scaling_row(scaling));
    flush_output();
    all.push_back(scaling);
  });
  print_text(scaling_mean(all));
  exit_if_stopped();
}

void run_layers(const LayersCommand& command) {
  command.check_files();
  const bench::LayersPlan plan = bench::plan_layers(command.spec);
  if (command.scaling) return run_scaling(plan);
  const StopOnSignal signals;
  bench::LayersReport report = measure(plan);
  summarize(plan, report);
  write_layers(command, report, dump_json(layers_json(report)), layers_text(report, "", output_style()));
}

void run_training(const LayersCommand& command) {
  command.check_files();
  const bench::TrainingPlan plan = bench::plan_training(command.tables, command.spec);
  const StopOnSignal signals;
  const bench::LayersReport report = measure(plan.layers);
  const std::vector<bench::TrainingResult> results = training_results(plan, report);
  write_layers(command, report, dump_json(training_json(report, results)),
               training_text(report, results, output_style()));
}

void run_calibrate(const LayersCommand& command) {
  if (command.show) return print_text(bench::calibration_table());
  const bench::LayersPlan plan = bench::plan_layers(command.spec);
  print_text(bench::calibration_header());
  calibrate_layers(plan, [](const std::string& line) {
    print_text(line);
    flush_output();
  });
  print_text(bench::calibration_note());
}

struct TorchCommand {
  bench::TorchSpec spec;
  ResultFiles files;
};

void run_torch(const TorchCommand& command) {
  std::vector<std::string> inputs = command.spec.networks;
  inputs.push_back(command.spec.initial);
  command.files.check(inputs);
  bench::TorchSpec spec = command.spec;
  spec.dropped_variables = set_by_wait_briefly();
  const StopOnSignal signals;
  ProgressBar bar;
  const auto [report, failure] = compare_with_torch(spec, with_bar(bar));
  bar.clear();
  if (!report.cases.empty()) {
    const ResultFiles& files = command.files;
    if (!files.json.empty()) write_result(files.json, dump_json(torch_json(report)));
    if (!files.csv.empty()) write_result(files.csv, torch_csv(report));
    if (!files.quiet()) print_text(torch_text(report, output_style()) + bench::calibration_note());
  }
  if (failure) std::rethrow_exception(failure);
  if (stop_signal() != 0)
    print_error(fmt::format("stopped; {} measured",
                            counted(static_cast<std::int64_t>(report.cases.size()), "network")));
  exit_if_stopped();
  if (!losses_agree(report)) {
    print_error("error: PyTorch's losses differ from lacuna's (loss_difference)");
    exit_with(1);
  }
}

template <typename Spec>
void add_duration(CLI::App& command, Spec& spec, const char* rounds, const char* seconds) {
  add_number(command, "--rounds", spec.rounds, 1, 10000, rounds)->capture_default_str();
  add(command, "--seconds", spec.seconds, "X", seconds)
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->capture_default_str();
}

// Options of how layers or whole networks are computed; `precision` and `threads` explain these options.
template <typename Spec>
void add_computing(CLI::App& command, Spec& spec, const char* precision, std::string_view threads = "") {
  add_number(command, "--batch", spec.batch, 1, 4096, "Images per batch")->capture_default_str();
  add_threads_option(command, spec.threads, threads);
  add_choice(command, "--precision", spec.precision, {"float32", "bfloat16"}, precision)
      ->capture_default_str();
  command.add_flag("--exact", spec.exact, "auto leaves out Winograd, whose rounding errors are larger");
}

// Layers, their tensors and the choice between kernels.
void add_selection(CLI::App& command, bench::LayersSpec& spec) {
  add_list(command, "--shapes", spec.shapes, "NAME|FILE",
           "Networks of configs/shapes or .yaml files (default: vgg16,resnet50)");
  add(command, "--layer", spec.layer, "TEXT", "Only layers whose name contains this");
  add_list(command, "--op", spec.ops, "OP", "Operations: forward, input_grad, weight_grad")
      ->capture_default_str();
  add_choice(command, "--layout", spec.layout, {"blocked", "nchw", "nhwc"},
             "blocked: tensors stay in the kernels' layout (images of up to 3 channels: nchw); nchw, nhwc: "
             "plain tensors and weights, with the reorders that each side needs")
      ->capture_default_str();
  add_computing(command, spec,
                "bfloat16: round the operands of products, where the CPU has AMX or AVX512-BF16 "
                "(--impl auto: where that is expected to be faster); single precision by auto is timed "
                "as well",
                "one thread is timed by CPU time, more by the wall clock");
}

void add_trace_zeros(CLI::App& command, bench::LayersSpec& spec) {
  add_list(command, "--trace", spec.traces, "TRACE", "Traces: their convolutions with their own zeros");
  add_choice(command, "--zeros-in", spec.zeros_in, {"data", "weights", "both", "input"},
             "Where the zeros are that these kernels skip: data (activations or gradients), weights: pruned "
             "training, with the gradients of the non-zero weights alone, both: in pruned layers of a "
             "trace, whichever pays in each call, or input: as data, but input gradients are computed where "
             "the input is not zero alone (default: data; both with --trace and auto)");
}

void add_measuring(CLI::App& command, LayersCommand& options) {
  bench::LayersSpec& spec = options.spec;
  add_list(command, "--zeros", spec.zeros, "PERCENT", "Percentages of zeros, placed at random")
      ->capture_default_str();
  std::vector<std::string> names;
  std::string help;
  for (const kernels::ImplDescription& one : kernels::describe_impls()) {
    names.emplace_back(one.impl.name);
    help += fmt::format("{}: {}; ", one.impl.name, one.text);
  }
  add_choice(command, "--impl", spec.impl, names,
             help + "with sparsetrain, sparse is timed as well (default: sparse; auto with --trace)")
      ->type_name("NAME");
  add_list(
      command, "--baseline", spec.baselines, "NAME",
      "Columns for more of oneDNN's convolutions: direct, winograd, gemm, best (the fastest of all); with "
      "several --zeros also the share above which ours is faster");
  command.add_flag(
      "--beside-blocked", spec.beside_blocked,
      "Time the same on blocked tensors in the same rounds (x_blocked in --csv and --json), with "
      "weights packed on both sides");
  command.add_flag_function(
      "--no-auto", [&spec](std::int64_t) { spec.with_auto = false; },
      "Do not time oneDNN's own choice of algorithm (Winograd)");
  add_duration(command, spec, "Least number of paired runs per case", "Least time per layer and operation");
  add_result_options(command, options.files);
  add_html_option(command, options.files.html);
}

void add_layers(CLI::App& bench) {
  const auto [command, options] = add_command<LayersCommand>(
      bench, "layers", "Zero-skipping convolutions and oneDNN's, layer by layer", run_layers);
  add_selection(command, options.spec);
  add_trace_zeros(command, options.spec);
  add_measuring(command, options);
  command.add_flag("--scaling", options.scaling,
                   "Gain of --threads over one thread, compared with the gain of a loop of multiply-adds");
  add_examples(
      command,
      {{"lacuna bench layers --shapes resnet50 --zeros 50,90", "two shares of zeros, all convolutions"},
       {"lacuna bench layers --trace vgg16.safetensors --batch 4", "the zeros of a training run"},
       {"lacuna bench layers --layer conv3_2 --op forward", "one layer, one operation"},
       {"lacuna bench layers --shapes vgg16 --zeros 50,70,90 --precision bfloat16",
        "bfloat16 against single precision"},
       {"lacuna bench layers --scaling --threads 2 --layer conv3 --zeros 70", "the gain of a second core"}});
}

void add_training(CLI::App& bench) {
  const auto [command, options] = add_command<LayersCommand>(
      bench, "training", "Speedup of a whole training, from a table of its zeros and the times of its layers",
      run_training);
  add(command, "TABLE", options.tables, "",
      "Tables of zeros over a training: vgg16, resnet34, resnet50 (measured by SparseTrain's "
      "authors) or .csv files; times are interpolated between --zeros")
      ->delimiter(',')
      ->required();
  add_selection(command, options.spec);
  add_measuring(command, options);
  add_examples(command, {{"lacuna bench training vgg16 --impl sparsetrain", "with the zeros of the paper"},
                         {"lacuna bench training mine.csv --shapes mine.yaml", "another network"}});
}

void add_calibrate(CLI::App& bench) {
  const auto [command, options] = add_command<LayersCommand>(
      bench, "calibrate", "Re-measure what auto chooses between kernels by, and keep it", run_calibrate);
  options.spec.impl = "auto";
  add_selection(command, options.spec);
  add_trace_zeros(command, options.spec);
  command.add_flag("--show", options.show, "Show what is kept for this machine, and measure nothing");
  add_examples(command, {{"lacuna bench calibrate --shapes resnet50",
                          "its layers; nothing is kept while the machine is busy"},
                         {"lacuna bench calibrate --show", "what is kept"}});
}

void add_torch(CLI::App& bench) {
  const auto [command, options] = add_command<TorchCommand>(
      bench, "torch", "Images per second of whole training steps by PyTorch, oneDNN and auto, interleaved",
      run_torch);
  bench::TorchSpec& spec = options.spec;
  add(command, "NETWORK", spec.networks, "",
      "Built-in models of lacuna train or .yaml files (default: vgg-small,vgg16,resnet18). All "
      "sides train on the same images from the same weights; PyTorch runs in a process of its "
      "own, in both memory formats")
      ->delimiter(',');
  add(command, "--python", spec.python, "PROGRAM",
      "The Python that has PyTorch (default: $PYTHON, python3, /usr/bin/python3)");
  add(command, "--data", spec.data, "SET", "Images, as for lacuna train")->capture_default_str();
  add_number(command, "--size", spec.image_size, 8, 4096,
             "Height and width of the images (default: those of the data set)");
  add(command, "--set", spec.settings, "key=value", "Change a parameter of the models")
      ->allow_extra_args(false);
  add_list(command, "--prune", spec.prune, "METHOD",
           "Zero weights as of lacuna train --prune, PyTorch's by masks: none, sm, ds; several: each network "
           "with each")
      ->capture_default_str();
  add(command, "--prune-zeros", spec.prune_zeros, "X", "Share of zero weights in the pruned layers")
      ->check(CLI::Range(0.0, 0.999).description(""))
      ->capture_default_str();
  add_number(command, "--after", spec.steps_before, 0, kMostSteps,
             "Steps to train first, not timed: zeros are those of a training under way")
      ->capture_default_str();
  add(command, "--init", spec.initial, "FILE", "Begin with the parameters in this file (safetensors)");
  add_number(command, "--steps", spec.steps, 1, kMostSteps,
             "Timed steps of each side (default: as many as --seconds holds)");
  add_choice(command, "--torch-wait", spec.wait, {bench::kTorchWaits.begin(), bench::kTorchWaits.end()},
             "PyTorch's threads wait for each other as OpenMP has them by default, asleep "
             "(OMP_WAIT_POLICY=passive), or in whichever way a network trains faster (auto)")
      ->capture_default_str();
  add(command, "--lr", spec.rate, "X", "Learning rate")
      ->check(CLI::PositiveNumber.description(""))
      ->capture_default_str();
  add_computing(command, spec,
                "For auto; bfloat16: round the operands of products, where the CPU has AMX or "
                "AVX512-BF16 and that is expected to be faster");
  add_duration(command, spec, "Blocks of steps of each side", "Time of each side");
  add_result_options(command, options.files);
  add_examples(command,
               {{"lacuna bench torch", "three networks, all cores, batch 32"},
                {"lacuna bench torch vgg16,resnet18 --prune none,sm", "with and without zero weights"},
                {"lacuna bench torch resnet50 --size 224 --batch 16", "images of 224x224"}});
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "Time the CPU kernels against oneDNN and PyTorch on this machine");
  bench->require_subcommand(0, 1);
  add_layers(*bench);
  add_training(*bench);
  add_torch(*bench);
  add_calibrate(*bench);
  add_examples(*bench, {{"lacuna bench layers --layer conv3_2 --zeros 50,90", "one layer against oneDNN"},
                        {"lacuna bench layers --trace mine.safetensors.zst", "the zeros of a training run"},
                        {"lacuna bench training vgg16", "a whole training with the zeros of the paper"},
                        {"lacuna bench torch resnet18", "whole training steps of PyTorch and of Lacuna"}});
  bench->callback([bench] {
    if (bench->get_subcommands().empty()) print_text(bench->get_parent()->help());
  });
}

}  // namespace lacuna::cli
