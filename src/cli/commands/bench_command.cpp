// lacuna bench: the zero-skipping convolutions against oneDNN on this machine, layer by layer.
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/commands/bench_baselines.hpp"
#include "cli/commands/bench_calibration.hpp"
#include "cli/commands/bench_jobs.hpp"
#include "cli/commands/bench_options.hpp"
#include "cli/commands/bench_precision.hpp"
#include "cli/commands/bench_results.hpp"
#include "cli/commands/bench_shapes.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::cli {
namespace {

using kernels::Impl;

void run_scaling(const std::vector<BenchJob>& jobs, const BenchOptions& options) {
  print("{:<40}  {:<11}  {:>6}  {:>7}  {:>13}  {:>6}\n", "layer", "operation", "zeros",
        fmt::format("x{}", options.threads), "register loop", "share");
  double logs = 0;
  int count = 0;
  const StopOnSignal signals;
  for (const BenchJob& job : jobs)
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
std::vector<BenchCase> run_jobs(const std::vector<BenchJob>& jobs, const BenchOptions& options) {
  const Impl impl = options.impl == "auto" ? Impl::kAuto : Impl::kSparse;
  std::vector<BenchCase> cases;
  ProgressBar progress;
  const double total = std::accumulate(jobs.begin(), jobs.end(), 0.0,
                                       [](double sum, const BenchJob& job) { return sum + job.cost(); });
  double spent = 0;
  std::size_t done = 0;
  for (const BenchJob& job : jobs) {
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
      c.checked = job.checked.value_or(job.op == Operation::kInputGrad ? Operand::kG : Operand::kA);
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

// Measures what `auto` chooses by, for every layer, whatever is known already.
void run_calibration(const std::vector<BenchJob>& jobs, const BenchOptions& options) {
  print_text(calibration_header());
  for (const BenchJob& job : jobs) {
    const kernels::MeasureSpec spec = spec_of(job, options, Impl::kAuto);
    if (is_part_grouped(spec.shape)) continue;  // always oneDNN's
    kernels::ConvOptions one_side = spec.options;
    one_side.or_weights = false;
    for (const bool weights : {false, true}) {
      if (weights && !job.either_side) continue;
      if (weights) one_side.checked = Operand::kW;
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
  const std::vector<BenchJob> jobs = plan_jobs(networks, tables, options);
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
