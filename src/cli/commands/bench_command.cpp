// lacuna bench: the CPU kernels against oneDNN and PyTorch on this machine.
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/calibration/calibration.hpp"
#include "bench/layers/layers_bench.hpp"
#include "bench/torch/torch_bench.hpp"
#include "bench/training/whole_training.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
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
  std::string json, csv, html;

  void check_files() const {
    std::vector<std::string> inputs = spec.traces;
    inputs.insert(inputs.end(), spec.shapes.begin(), spec.shapes.end());
    inputs.insert(inputs.end(), tables.begin(), tables.end());
    check_result_files(json, csv, inputs);
    check_html(html, inputs, {json, csv});
  }
};

bench::Control with_bar(ProgressBar& bar) {
  return {[&bar](double share, const std::string& what) { bar.update(share, what); },
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
  if (!command.html.empty()) write_html(command.html, "bench", {{"bench", json}});
  if (!command.json.empty()) write_result(command.json, json);
  if (!command.csv.empty()) write_result(command.csv, bench::layers_csv(report.cases));
  if (command.json != kStandardOutput && command.csv != kStandardOutput) {
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
  write_layers(command, report, bench::json_text(layers_json(report)),
               layers_text(report, "", output_style()));
}

void run_training(const LayersCommand& command) {
  command.check_files();
  const bench::TrainingPlan plan = bench::plan_training(command.tables, command.spec);
  const StopOnSignal signals;
  const bench::LayersReport report = measure(plan.layers);
  const std::vector<bench::TrainingResult> results = training_results(plan, report);
  write_layers(command, report, bench::json_text(training_json(report, results)),
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
  std::string json, csv;
};

void run_torch(const TorchCommand& command) {
  std::vector<std::string> inputs = command.spec.networks;
  inputs.push_back(command.spec.initial);
  check_result_files(command.json, command.csv, inputs);
  bench::TorchSpec spec = command.spec;
  spec.dropped_variables = set_by_wait_briefly();
  const StopOnSignal signals;
  ProgressBar bar;
  const auto [report, failure] = compare_with_torch(spec, with_bar(bar));
  bar.clear();
  if (!report.cases.empty()) {
    if (!command.json.empty()) write_result(command.json, bench::json_text(torch_json(report)));
    if (!command.csv.empty()) write_result(command.csv, torch_csv(report));
    if (command.json != kStandardOutput && command.csv != kStandardOutput)
      print_text(torch_text(report, output_style()) + bench::calibration_note());
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
  command.add_option("--rounds", spec.rounds, rounds)
      ->check(whole_number(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seconds", spec.seconds, seconds)
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->type_name("X")
      ->capture_default_str();
}

void add_batch(CLI::App& command, std::int64_t& batch) {
  command.add_option("--batch", batch, "Images per batch")
      ->check(whole_number(1, 4096))
      ->type_name("N")
      ->capture_default_str();
}

// Layers, their tensors and the choice between kernels.
void add_selection(CLI::App& command, bench::LayersSpec& spec) {
  add_list(command, "--shapes", spec.shapes, "NAME|FILE",
           "Networks of configs/shapes or .yaml files (default: vgg16,resnet50)");
  command.add_option("--layer", spec.layer, "Only layers whose name contains this")->type_name("TEXT");
  add_list(command, "--op", spec.ops, "OP", "Operations: forward, input_grad, weight_grad")
      ->capture_default_str();
  add_batch(command, spec.batch);
  add_threads_option(command, spec.threads, "one thread is timed by CPU time, more by the wall clock");
  add_choice(command, "--layout", spec.layout, {"blocked", "nchw", "nhwc"},
             "blocked: tensors stay in the kernels' layout (images of up to 3 channels: nchw); nchw, nhwc: "
             "plain tensors and weights, with the reorders that each side needs")
      ->capture_default_str();
  add_choice(command, "--precision", spec.precision, {"float32", "bfloat16"},
             "bfloat16: round the operands of products, where the CPU has AMX or AVX512-BF16 "
             "(--impl auto: where that is expected to be faster); single precision by auto is timed "
             "as well")
      ->capture_default_str();
  command.add_flag("--exact", spec.exact, "auto leaves out Winograd, whose rounding errors are larger");
}

void add_trace_zeros(CLI::App& command, bench::LayersSpec& spec) {
  add_list(command, "--trace", spec.traces, "TRACE", "Traces: their convolutions with their own zeros");
  add_choice(command, "--zeros-in", spec.zeros_in, {"data", "weights", "both"},
             "Where the zeros are that these kernels skip: data (activations or gradients), weights: pruned "
             "training, with the gradients of the non-zero weights alone, or both: in pruned layers of a "
             "trace, whichever pays in each call (default: data; both with --trace and auto)");
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
  add_result_options(command, options.json, options.csv);
  add_html_option(command, options.html);
}

void add_layers(CLI::App& bench) {
  CLI::App* command =
      bench.add_subcommand("layers", "Zero-skipping convolutions and oneDNN's, layer by layer");
  const auto options = std::make_shared<LayersCommand>();
  add_selection(*command, options->spec);
  add_trace_zeros(*command, options->spec);
  add_measuring(*command, *options);
  command->add_flag("--scaling", options->scaling,
                    "Gain of --threads over one thread, compared with the gain of a loop of multiply-adds");
  add_examples(
      *command,
      {{"lacuna bench layers --shapes resnet50 --zeros 50,90", "two shares of zeros, all convolutions"},
       {"lacuna bench layers --trace vgg16.safetensors --batch 4", "the zeros of a training run"},
       {"lacuna bench layers --layer conv3_2 --op forward", "one layer, one operation"},
       {"lacuna bench layers --shapes vgg16 --zeros 50,70,90 --precision bfloat16",
        "bfloat16 against single precision"},
       {"lacuna bench layers --scaling --threads 2 --layer conv3 --zeros 70", "the gain of a second core"}});
  command->callback([options] { run_layers(*options); });
}

void add_training(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand(
      "training", "Speedup of a whole training, from a table of its zeros and the times of its layers");
  const auto options = std::make_shared<LayersCommand>();
  command
      ->add_option("TABLE", options->tables,
                   "Tables of zeros over a training: vgg16, resnet34, resnet50 (measured by SparseTrain's "
                   "authors) or .csv files; times are interpolated between --zeros")
      ->delimiter(',')
      ->type_name("")
      ->required();
  add_selection(*command, options->spec);
  add_measuring(*command, *options);
  add_examples(*command, {{"lacuna bench training vgg16 --impl sparsetrain", "with the zeros of the paper"},
                          {"lacuna bench training mine.csv --shapes mine.yaml", "another network"}});
  command->callback([options] { run_training(*options); });
}

void add_calibrate(CLI::App& bench) {
  CLI::App* command =
      bench.add_subcommand("calibrate", "Re-measure what auto chooses between kernels by, and keep it");
  const auto options = std::make_shared<LayersCommand>();
  options->spec.impl = "auto";
  add_selection(*command, options->spec);
  add_trace_zeros(*command, options->spec);
  command->add_flag("--show", options->show, "Show what is kept for this machine, and measure nothing");
  add_examples(*command, {{"lacuna bench calibrate --shapes resnet50",
                           "its layers; nothing is kept while the machine is busy"},
                          {"lacuna bench calibrate --show", "what is kept"}});
  command->callback([options] { run_calibrate(*options); });
}

void add_torch(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand(
      "torch", "Images per second of whole training steps by PyTorch, oneDNN and auto, interleaved");
  const auto options = std::make_shared<TorchCommand>();
  bench::TorchSpec& spec = options->spec;
  command
      ->add_option("NETWORK", spec.networks,
                   "Built-in models of lacuna train or .yaml files (default: vgg-small,vgg16,resnet18). All "
                   "sides train on the same images from the same weights; PyTorch runs in a process of its "
                   "own, in both memory formats")
      ->delimiter(',')
      ->type_name("");
  command
      ->add_option("--python", spec.python,
                   "The Python that has PyTorch (default: $PYTHON, python3, /usr/bin/python3)")
      ->type_name("PROGRAM");
  command->add_option("--data", spec.data, "Images, as for lacuna train")
      ->type_name("SET")
      ->capture_default_str();
  command
      ->add_option("--size", spec.image_size,
                   "Height and width of the images (default: those of the data set)")
      ->check(whole_number(8, 4096))
      ->type_name("N");
  command->add_option("--set", spec.settings, "Change a parameter of the models")
      ->allow_extra_args(false)
      ->type_name("key=value");
  add_list(*command, "--prune", spec.prune, "METHOD",
           "Zero weights as of lacuna train --prune, PyTorch's by masks: none, sm, ds; several: each network "
           "with each")
      ->capture_default_str();
  command->add_option("--prune-zeros", spec.prune_zeros, "Share of zero weights in the pruned layers")
      ->check(CLI::Range(0.0, 0.999).description(""))
      ->type_name("X")
      ->capture_default_str();
  command
      ->add_option("--after", spec.steps_before,
                   "Steps to train first, not timed: zeros are those of a training under way")
      ->check(whole_number(0))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--init", spec.initial, "Begin with the parameters in this file (safetensors)")
      ->type_name("FILE");
  command->add_option("--steps", spec.steps, "Timed steps of each side (default: as many as --seconds holds)")
      ->check(whole_number(1))
      ->type_name("N");
  command->add_option("--lr", spec.rate, "Learning rate")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("X")
      ->capture_default_str();
  add_batch(*command, spec.batch);
  add_threads_option(*command, spec.threads);
  add_duration(*command, spec, "Blocks of steps of each side", "Time of each side");
  add_choice(*command, "--precision", spec.precision, {"float32", "bfloat16"},
             "Of auto; bfloat16: round the operands of products, where the CPU has AMX or "
             "AVX512-BF16 and that is expected to be faster")
      ->capture_default_str();
  command->add_flag("--exact", spec.exact, "auto leaves out Winograd, whose rounding errors are larger");
  add_result_options(*command, options->json, options->csv);
  add_examples(*command,
               {{"lacuna bench torch", "three networks, all cores, batch 32"},
                {"lacuna bench torch vgg16,resnet18 --prune none,sm", "with and without zero weights"},
                {"lacuna bench torch resnet50 --size 224 --batch 16", "images of 224x224"}});
  command->callback([options] { run_torch(*options); });
}

// Options that `lacuna bench` had before its subcommands.
void refuse_old_options(CLI::App& bench) {
  const auto moved = [&](const std::string& name, const std::string& now) {
    if (bench.get_option_no_throw(name) == nullptr)
      add_moved_option(bench, name, "this benchmark is a command now",
                       fmt::format("use 'lacuna bench {}'; see 'lacuna help bench'", now));
  };
  moved("--versus-torch", "torch NETWORK,...");
  moved("--zeros-file", "training TABLE,...");
  moved("--calibrate", "calibrate");
  moved("--show-calibration", "calibrate --show");
  for (const char* command : {"layers", "torch"})
    for (const CLI::Option* option : bench.get_subcommand(command)->get_options())
      if (!option->get_lnames().empty())
        moved("--" + option->get_lnames().front(),
              fmt::format("{} --{} ...", command, option->get_lnames().front()));
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
  refuse_old_options(*bench);
  add_examples(*bench, {{"lacuna bench layers --layer conv3_2 --zeros 50,90", "one layer against oneDNN"},
                        {"lacuna bench layers --trace mine.safetensors.zst", "the zeros of a training run"},
                        {"lacuna bench training vgg16", "a whole training with the zeros of the paper"},
                        {"lacuna bench torch resnet18", "whole training steps of PyTorch and of Lacuna"}});
  bench->callback([bench] {
    if (bench->get_subcommands().empty()) print_text(bench->get_parent()->help());
  });
}

}  // namespace lacuna::cli
