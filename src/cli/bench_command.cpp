// lacuna bench: the zero-skipping convolutions against oneDNN on this machine, layer by layer.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cli/bench_baselines.hpp"
#include "cli/bench_calibration.hpp"
#include "cli/bench_options.hpp"
#include "cli/bench_precision.hpp"
#include "cli/bench_results.hpp"
#include "cli/bench_shapes.hpp"
#include "cli/commands.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "cli/stop_signal.hpp"
#include "cli/terminal.hpp"
#include "kernels/measure/measure.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"
#include "report/text_table.hpp"

namespace lacuna::cli {
namespace {

using kernels::Checked;
using kernels::Impl;
using kernels::Layout;
using kernels::WeightLayout;

Operation parse_op(const std::string& name) {
  for (const Operation op : kOperations)
    if (name == operation_name(op)) return op;
  throw InputError("--op", fmt::format("unknown operation '{}'", name),
                   "use forward, input_grad or weight_grad");
}

struct Job {
  const BenchNetwork* network;
  const BenchLayer* layer;
  Operation op;
  std::optional<Checked> checked;
  std::vector<double> zeros;  // shares to be measured; none: as in the trace
  bool either_side = false;   // zeros of weights may be skipped instead
  // Time that it takes, in units of its own.
  double cost() const {
    return static_cast<double>(layer->shape.macs()) * static_cast<double>(zeros.size() + 1);
  }
};

// weight_grad may check either operand: the one with more zeros where a trace is given.
std::optional<Checked> better_operand(const BenchLayer& layer, Operation op, const BenchOptions& options) {
  if (options.zeros_in == "weights") return Checked::kWeights;
  if (op != Operation::kWeightGrad || layer.traced == nullptr) return std::nullopt;
  return layer.traced->g.zero_share() > layer.traced->a.zero_share() ? Checked::kGradients
                                                                     : Checked::kActivations;
}

// A trained network has hardly any zero weights: what is not pruned takes part as if there were none.
bool is_pruned(const BenchLayer& layer) {
  return layer.traced != nullptr && layer.traced->w.zero_share() > 0.2;
}

bool is_part_grouped(const LayerShape& shape) {
  return shape.groups > 1 && (shape.c_per_group() % 16 != 0 || shape.k_per_group() % 16 != 0);
}

kernels::MeasureSpec spec_of(const Job& job, const BenchOptions& options, Impl impl) {
  kernels::MeasureSpec spec;
  spec.shape = job.layer->shape;
  spec.options.op = job.op;
  spec.options.checked = job.checked;
  // Depthwise and the like leave most lanes of our kernels empty: oneDNN's.
  const LayerShape& shape = job.layer->shape;
  spec.options.impl = is_part_grouped(shape) ? Impl::kAuto : impl;
  spec.options.threads = options.threads;
  spec.options.layout = options.layout == "nchw"   ? Layout::kNchw
                        : options.layout == "nhwc" ? Layout::kNhwc
                                                   : Layout::kBlocked;
  // Loaders deliver plain images, and oneDNN's first layers read them as such.
  if (job.layer->shape.c <= 3 && spec.options.layout == Layout::kBlocked)
    spec.options.src_layout = Layout::kNchw;
  const bool in_weights = job.checked == Checked::kWeights;
  const bool kept_gradients = (in_weights || job.either_side) && job.op == Operation::kWeightGrad;
  spec.options.weights = (options.layout == "blocked" || options.beside_blocked) && !kept_gradients
                             ? WeightLayout::kPacked
                             : WeightLayout::kOihw;
  spec.min_rounds = options.rounds;
  spec.seconds = options.seconds;
  spec.with_auto = !options.no_auto;
  spec.with_sparsetrain = options.impl == "sparsetrain";
  spec.zeros = job.zeros;
  spec.stop = [] { return stop_signal() != 0; };
  const BenchBaselines baselines = parse_baselines(options.baselines);
  spec.baselines = baselines.more;
  // The least of several noisy ratios is too small: where it matters, they are timed longer.
  if (baselines.best) spec.close_error = 0.005;
  spec.close_seconds = std::max(0.15, 5 * options.seconds);
  spec.with_blocked = options.beside_blocked;
  spec.options.allow_winograd = !options.exact;
  use_precision(options.precision, spec);
  spec.options.or_weights = job.either_side;
  if (job.layer->traced != nullptr && (in_weights || job.either_side)) {
    const MaskView mask = job.layer->traced->w.mask;
    const std::int64_t taps = shape.taps();
    (in_weights ? spec.nonzero : spec.nonzero_weight) =
        [=](std::int64_t k, std::int64_t c, std::int64_t tap) { return mask.bit(k * taps + tap, c); };
  }
  if (in_weights) return spec;
  if (job.layer->traced != nullptr) {
    const bool activations = job.op == Operation::kForward ||
                             (job.op == Operation::kWeightGrad && job.checked == Checked::kActivations);
    const MaskView mask = activations ? job.layer->traced->a.mask : job.layer->traced->g.mask;
    const std::int64_t samples = job.layer->traced->shape.n;
    const std::int64_t pixels = mask.rows / samples;
    spec.nonzero = [=](std::int64_t image, std::int64_t channel, std::int64_t pixel) {
      return mask.bit(image % samples * pixels + pixel, channel);
    };
  }
  return spec;
}

// SparseTrain leaves initial layers to a dense kernel, and what it has no kernel for.
bool left_out(const BenchLayer& layer, const BenchOptions& options) {
  if (options.impl != "sparsetrain") return false;
  const std::string refusal = kernels::sparsetrain_refusal(layer.shape, kernels::best_isa());
  if (refusal.find("AVX-512") != std::string::npos)
    throw InputError("--impl sparsetrain", "it needs a CPU with AVX-512", "use --impl sparse");
  return layer.initial || !refusal.empty();
}

// `tables`: of zeros, one per network; or none.
std::vector<Job> plan_jobs(const std::vector<BenchNetwork>& networks, const std::vector<ZeroTable>& tables,
                           const BenchOptions& options) {
  if (options.impl == "sparsetrain" && options.zeros_in == "weights")
    throw InputError("--impl sparsetrain", "its authors' kernels do not skip zero weights",
                     "leave out --zeros-in weights");
  if (!tables.empty() && options.zeros_in != "data")
    throw InputError("--zeros-file", "its zeros are those of activations and gradients",
                     "leave out --zeros-in");
  if (options.zeros_in == "both" && options.traces.empty())
    throw InputError("--zeros-in both", "only a trace has zeros on both sides", "give one, with --trace");
  std::vector<Job> jobs;
  for (const BenchNetwork& network : networks)
    for (const BenchLayer& layer : network.layers)
      for (const std::string& name : options.ops) {
        const Operation op = parse_op(name);
        // The gradient of the images is not needed.
        if (layer.initial && op == Operation::kInputGrad) continue;
        if (!options.layer.empty() && layer.name.find(options.layer) == std::string::npos) continue;
        if (left_out(layer, options)) continue;
        Job job{&network, &layer, op, better_operand(layer, op, options), options.zeros};
        if (layer.traced != nullptr) job.zeros.clear();
        job.either_side = options.zeros_in == "both" && is_pruned(layer) && !layer.initial;
        if (!tables.empty()) {
          if (layer.initial) continue;
          const auto& table = tables[static_cast<std::size_t>(&network - networks.data())];
          const ZerosPlan plan = plan_zeros(table, layer, op, options.zeros);
          job.checked = plan.checked;
          job.zeros = plan.all();
        }
        jobs.push_back(job);
      }
  if (jobs.empty() && options.impl == "sparsetrain")
    throw InputError("--impl sparsetrain", "none of the layers is one that it can do",
                     "see docs/models/sparsetrain.md for what it covers");
  if (jobs.empty())
    throw InputError("--layer", fmt::format("no layer name contains '{}'", options.layer),
                     "give part of a layer name");
  return jobs;
}

void run_scaling(const std::vector<Job>& jobs, const BenchOptions& options) {
  print("{:<40}  {:<11}  {:>6}  {:>7}  {:>13}  {:>6}\n", "layer", "operation", "zeros",
        fmt::format("x{}", options.threads), "register loop", "share");
  double logs = 0;
  int count = 0;
  const StopOnSignal signals;
  for (const Job& job : jobs)
    for (const double zeros : job.layer->traced != nullptr ? std::vector<double>{-1} : options.zeros) {
      kernels::MeasureSpec spec = spec_of(job, options, Impl::kSparse);
      spec.zeros = {zeros};
      const kernels::Scaling s = measure_scaling(spec, options.threads);
      if (s.rounds == 0) continue;  // stopped
      print("{:<40}  {:<11}  {:>6}  {:>7.2f}  {:>13.2f}  {:>5.0f}%\n",
            printable(job.network->name + " " + job.layer->name), operation_name(job.op),
            zeros < 0 ? "trace" : fmt::format("{:.0f}%", 100 * zeros), s.ours, s.registers, 100 * s.share());
      flush_output();
      logs += std::log(s.share());
      ++count;
    }
  if (count > 0)
    print("\ngeometric mean of the shares: {:.1f} % over {} cases\n", 100 * std::exp(logs / count), count);
  if (stop_signal() != 0) exit_with(128 + stop_signal());
}

// Ctrl-C ends it after the rounds that are being timed; what was measured so far is kept.
std::vector<BenchCase> run_jobs(const std::vector<Job>& jobs, const BenchOptions& options) {
  const Impl impl = options.impl == "auto" ? Impl::kAuto : Impl::kSparse;
  std::vector<BenchCase> cases;
  ProgressBar progress;
  const double total = std::accumulate(jobs.begin(), jobs.end(), 0.0,
                                       [](double sum, const Job& job) { return sum + job.cost(); });
  double spent = 0;
  std::size_t done = 0;
  for (const Job& job : jobs) {
    progress.update(spent / total,
                    fmt::format("{} {} {}", job.network->name, job.layer->name, operation_name(job.op)));
    const std::vector<kernels::Measurement> results = kernels::measure(spec_of(job, options, impl));
    if (results.empty()) break;  // stopped
    ++done;
    spent += job.cost();
    for (std::size_t i = 0; i < results.size(); ++i) {
      BenchCase c;
      c.network = job.network->name;
      c.layer = job.layer->name;
      c.shape = job.layer->shape;
      c.count = job.layer->count;
      c.initial = job.layer->initial;
      c.op = job.op;
      c.checked =
          job.checked.value_or(job.op == Operation::kInputGrad ? Checked::kGradients : Checked::kActivations);
      c.wanted_zeros = job.zeros.empty() ? -1 : job.zeros[i];
      c.threads = options.threads;
      c.impl = impl != Impl::kAuto && results[i].used == Impl::kBfloat16 ? Impl::kBfloat16 : impl;
      c.result = results[i];
      if (c.result.skipped) c.checked = *c.result.skipped;
      cases.push_back(c);
    }
    if (stop_signal() != 0) break;
  }
  progress.clear();
  if (done < jobs.size()) print_error(fmt::format("stopped after {} of {} measurements", done, jobs.size()));
  if (cases.empty()) exit_with(128 + stop_signal());
  return cases;
}

// Each table belongs to the network that its file is named after, or to that of --shapes.
std::vector<ZeroTable> read_tables(BenchOptions& options) {
  std::vector<ZeroTable> tables;
  if (options.zeros_files.empty()) return tables;
  if (!options.traces.empty())
    throw InputError("--zeros-file", "a trace has zeros of its own", "leave out --trace");
  if (options.scaling)
    throw InputError("--zeros-file", "--scaling has no use for it", "leave out one of them");
  if (options.zeros.size() < 2)
    throw InputError("--zeros", "a table of zeros is interpolated between shares", "give at least two");
  if (!options.shapes.empty() && options.shapes.size() != options.zeros_files.size())
    throw InputError("--shapes",
                     fmt::format("{} lists of layers for {} tables of zeros", options.shapes.size(),
                                 options.zeros_files.size()),
                     "give one for each, or none where files are named after their networks");
  const bool by_name = options.shapes.empty();
  for (const std::string& name : options.zeros_files) {
    tables.push_back(read_zero_table(name));
    if (by_name) options.shapes.push_back(zero_table_network(name));
  }
  return tables;
}

// Measures what `auto` chooses by, for every layer, whatever is known already.
void run_calibration(const std::vector<Job>& jobs, const BenchOptions& options) {
  print_text(calibration_header());
  for (const Job& job : jobs) {
    const kernels::MeasureSpec spec = spec_of(job, options, Impl::kAuto);
    if (is_part_grouped(spec.shape)) continue;  // always oneDNN's
    kernels::ConvOptions one_side = spec.options;
    one_side.or_weights = false;
    for (const bool weights : {false, true}) {
      if (weights && !job.either_side) continue;
      if (weights) one_side.checked = Checked::kWeights;
      print_text(calibration_row(job.network->name + " " + job.layer->name, spec.shape.describe(), job.op,
                                 kernels::calibrate(spec.shape, one_side, 1.0)));
      flush_output();
    }
  }
  print_text(calibration_note());
}

void run_bench(BenchOptions options) {
  if (options.show_calibration) return print_text(calibration_table());
  options.threads = resolve_threads(options.threads);
  const std::vector<ZeroTable> tables = read_tables(options);
  if (options.shapes.empty() && options.traces.empty()) options.shapes = {"vgg16", "resnet50"};
  if (options.impl.empty()) options.impl = options.traces.empty() ? "sparse" : "auto";
  if (options.zeros_in.empty())
    options.zeros_in = !options.traces.empty() && options.impl == "auto" ? "both" : "data";
  for (double& zeros : options.zeros) {
    if (!(zeros >= 0 && zeros <= 100))
      throw InputError("--zeros", fmt::format("{} is not a percentage", zeros), "give 0 to 100");
    zeros /= 100;
  }
  parse_baselines(options.baselines);  // before anything is measured
  if (options.beside_blocked && options.layout == "blocked")
    throw InputError("--beside-blocked", "the tensors are blocked already", "give --layout nhwc or nchw");
  check_precision(options.precision, {{options.layout == "nchw", "--layout nchw"},
                                      {options.zeros_in == "weights", "--zeros-in weights"},
                                      {options.impl == "sparsetrain", "--impl sparsetrain"},
                                      {options.scaling, "--scaling"}});
  std::vector<std::string> inputs = options.traces;
  inputs.insert(inputs.end(), options.shapes.begin(), options.shapes.end());
  inputs.insert(inputs.end(), options.zeros_files.begin(), options.zeros_files.end());
  check_result_files(options.json, options.csv, inputs);
  check_html(options.html, inputs, {options.json, options.csv});
  std::vector<BenchNetwork> networks;
  for (const std::string& name : options.shapes) networks.push_back(read_shapes(name, options.batch));
  for (const std::string& path : options.traces) networks.push_back(network_of_trace(path, options.batch));
  const std::vector<Job> jobs = plan_jobs(networks, tables, options);
  if (options.scaling) return run_scaling(jobs, options);
  if (options.calibrate) return run_calibration(jobs, options);

  const StopOnSignal signals;
  BenchReport report;
  report.cases = run_jobs(jobs, options);
  report.complete = stop_signal() == 0;
  for (const BenchNetwork& network : networks)
    for (const BenchLayer& layer : network.layers)
      if (left_out(layer, options) && layer.name.find(options.layer) != std::string::npos)
        report.left_out.push_back(network.name + " " + layer.name);
  std::vector<std::pair<std::string, double>> paper;
  paper.reserve(networks.size());
  for (const BenchNetwork& network : networks) paper.emplace_back(network.name, network.paper_training);
  // A total over part of the operations or layers would not be training time.
  const bool whole = options.ops.size() == 3 && options.layer.empty() && report.complete;
  for (std::size_t i = 0; whole && i < tables.size(); ++i)
    for (BenchTraining& training : trainings_of(tables[i], networks[i], report.cases, options.zeros))
      report.trainings.push_back(std::move(training));
  if (whole && tables.empty()) report.totals = network_totals(report.cases, paper);
  if (options.traces.empty() && tables.empty()) report.groups = group_means(report.cases);
  report.machine = this_machine();
  const BenchBaselines baselines = parse_baselines(options.baselines);
  report.best_column = baselines.best;
  report.exact = options.exact;
  const std::string json = bench_json(report);
  if (!options.html.empty()) write_html(options.html, "bench", {{"bench", json}});
  if (!options.json.empty()) write_result(options.json, json);
  if (!options.csv.empty()) write_result(options.csv, bench_csv(report.cases));
  if (options.json != kStandardOutput && options.csv != kStandardOutput) {
    print_text(bench_tables(report));
    print_text(calibration_note());
    if (baselines.asked) print_text(crossover_table(crossovers(report.cases)));
  }
  if (stop_signal() != 0) exit_with(128 + stop_signal());
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "Time the zero-skipping convolutions against oneDNN on this machine");
  auto options = std::make_shared<BenchOptions>();
  add_bench_options(*bench, *options);
  bench->callback([bench, options] {
    wants_versus(*bench) ? run_versus_torch(with_shared(*bench, options->versus)) : run_bench(*options);
  });
}

}  // namespace lacuna::cli
