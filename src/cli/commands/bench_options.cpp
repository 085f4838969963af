#include "cli/commands/bench_options.hpp"

#include "cli/commands.hpp"
#include "cli/commands/bench_precision.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"

namespace lacuna::cli {

void add_bench_options(CLI::App& bench, BenchOptions& options) {
  bench
      .add_option("--shapes", options.shapes,
                  "Networks of configs/shapes or .yaml files (default: vgg16,resnet50)")
      ->delimiter(',')
      ->type_name("NAME|FILE,...");
  bench.add_option("--trace", options.traces, "Traces: their convolutions with their own zeros")
      ->delimiter(',')
      ->type_name("TRACE,...");
  bench
      .add_option(
          "--zeros-file", options.zeros_files,
          "Tables of zeros over a training: vgg16, resnet34, resnet50 (measured by SparseTrain's authors) or "
          ".csv files; gives the speedup of the whole training, interpolated between --zeros")
      ->delimiter(',')
      ->type_name("NAME|FILE,...");
  bench.add_option("--op", options.ops, "Operations: forward, input_grad, weight_grad")
      ->delimiter(',')
      ->type_name("OP,...")
      ->capture_default_str();
  bench.add_option("--zeros", options.zeros, "Percentages of zeros, placed at random")
      ->delimiter(',')
      ->type_name("PERCENT,...")
      ->capture_default_str();
  bench
      .add_option(
          "--zeros-in", options.zeros_in,
          "Where the zeros are that these kernels skip: data (activations or gradients), weights: pruned "
          "training, with the gradients of the non-zero weights alone, or both: in pruned layers of a trace, "
          "whichever pays in each call (default: data; both with --trace and auto)")
      ->check(CLI::IsMember({"data", "weights", "both"}).description(""))
      ->type_name("data|weights|both");
  add_precision_option(bench, options.precision);
  bench.add_option("--layer", options.layer, "Only layers whose name contains this")->type_name("TEXT");
  bench.add_option("--batch", options.batch, "Images per batch")
      ->check(whole_number(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  bench
      .add_option("--threads", options.threads,
                  "Threads, 0 for all cores; one thread is timed by CPU time, more by the wall clock")
      ->check(whole_number(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  bench
      .add_option("--impl", options.impl,
                  "sparse; auto: sparse or the fastest dense one, whichever is expected to win; "
                  "sparsetrain: sparse, and "
                  "beside it the algorithm of SparseTrain's authors (AVX-512) "
                  "(default: sparse; auto with --trace)")
      ->check(CLI::IsMember({"sparse", "auto", "sparsetrain"}).description(""))
      ->type_name("sparse|auto|sparsetrain");
  bench
      .add_option("--layout", options.layout,
                  "blocked: tensors stay in the kernels' layout (images of up to 3 channels: nchw); nchw, "
                  "nhwc: plain tensors and weights, with the reorders that each side needs")
      ->check(CLI::IsMember({"blocked", "nchw", "nhwc"}).description(""))
      ->type_name("blocked|nchw|nhwc")
      ->capture_default_str();
  bench.add_flag("--beside-blocked", options.beside_blocked,
                 "Time the same on blocked tensors in the same rounds (x_blocked in --csv and --json), with "
                 "weights packed on both sides");
  bench.add_option("--rounds", options.rounds, "Least number of paired runs per case")
      ->check(whole_number(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  bench.add_option("--seconds", options.seconds, "Least time per layer and operation")
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->type_name("X")
      ->capture_default_str();
  bench
      .add_option("--baseline", options.baselines,
                  "Columns for more of oneDNN's convolutions: direct, winograd, gemm, best (the fastest of "
                  "all); with "
                  "several --zeros also the share from which on ours is faster")
      ->delimiter(',')
      ->type_name("NAME,...");
  bench.add_flag("--exact", options.exact, "auto leaves out Winograd, whose rounding errors are larger");
  bench.add_flag(
      "--calibrate", options.calibrate,
      "Measure anew what auto chooses by, for these layers, and keep it unless the machine is busy");
  bench.add_flag("--show-calibration", options.show_calibration, "Show what is kept for this machine");
  bench.add_flag("--no-auto", options.no_auto, "Do not time oneDNN's own choice of algorithm (Winograd)");
  bench.add_flag("--scaling", options.scaling,
                 "Gain of --threads over one thread, compared with the gain of a loop of multiply-adds");
  add_result_options(bench, options.json, options.csv);
  add_html_option(bench, options.html);
  add_versus_options(bench, options.versus);
  add_examples(
      bench,
      {{"lacuna bench --shapes resnet50 --zeros 50,90", "two shares of zeros, all convolutions"},
       {"lacuna bench --trace vgg16.safetensors --batch 4", "the zeros of a training run"},
       {"lacuna bench --layer conv3_2 --op forward", "one layer, one operation"},
       {"lacuna bench --zeros-file vgg16 --impl sparsetrain", "a whole training with the zeros of the paper"},
       {"lacuna bench --shapes vgg16 --zeros 50,70,90 --precision bfloat16",
        "bfloat16 against single precision"},
       {"lacuna bench --scaling --threads 2 --layer conv3 --zeros 70", "the gain of a second core"},
       {"lacuna bench --versus-torch vgg16,resnet18 --prune none,sm",
        "whole training steps beside PyTorch's"}});
}

}  // namespace lacuna::cli
