#include "bench/layers/layers_bench.hpp"

#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace lacuna::bench {
namespace {

using kernels::Impl;

Case make_case(const LayersPlan& plan, const Job& job, Impl impl, const kernels::Measurement& result,
               double wanted_zeros) {
  Case c;
  c.network = job.network->name;
  c.layer = job.layer->name;
  c.shape = job.layer->shape;
  c.count = job.layer->count;
  c.initial = job.layer->initial;
  c.op = job.op;
  c.checked = result.skipped.value_or(
      job.checked.value_or(job.op == Operation::kInputGrad ? Operand::kG : Operand::kA));
  c.wanted_zeros = wanted_zeros;
  c.threads = plan.spec.threads;
  c.impl = impl != Impl::kAuto && result.used == Impl::kBfloat16 ? Impl::kBfloat16 : impl;
  c.result = result;
  return c;
}

}  // namespace

LayersReport measure_layers(const LayersPlan& plan, const Control& control) {
  const Impl impl = impl_of(plan.spec);
  LayersReport report;
  report.jobs = plan.jobs.size();
  report.impl = plan.spec.impl;
  report.left_out = plan.left_out;
  report.best_column = plan.baselines.best;
  report.exact = plan.spec.exact;
  const double total = std::accumulate(plan.jobs.begin(), plan.jobs.end(), 0.0,
                                       [](double sum, const Job& job) { return sum + job.cost(); });
  double spent = 0;
  for (const Job& job : plan.jobs) {
    control.progress(spent / total, fmt::format("{} {}", job.name(), operation_name(job.op)));
    kernels::MeasureSpec spec = measure_spec(plan.spec, plan.baselines, job, impl);
    spec.stop = control.stop;
    const std::vector<kernels::Measurement> results = kernels::measure(spec);
    if (results.empty()) break;  // stopped
    ++report.jobs_done;
    spent += job.cost();
    for (std::size_t i = 0; i < results.size(); ++i)
      report.cases.push_back(make_case(plan, job, impl, results[i], job.zeros.empty() ? -1 : job.zeros[i]));
    if (control.stop()) break;
  }
  report.complete = !control.stop();
  report.machine = this_machine();
  return report;
}

bool is_whole_training(const LayersPlan& plan, const LayersReport& report) {
  return plan.spec.ops.size() == kOperations.size() && plan.spec.layer.empty() && report.complete;
}

void summarize(const LayersPlan& plan, LayersReport& report) {
  std::vector<std::pair<std::string, double>> paper;
  for (const Network& network : plan.networks) paper.emplace_back(network.name, network.paper_training);
  if (is_whole_training(plan, report)) report.totals = network_totals(report.cases, paper);
  if (plan.spec.traces.empty()) report.groups = group_means(report.cases);
}

void measure_scaling(const LayersPlan& plan, const Control& control,
                     const std::function<void(const ScalingCase&)>& measured) {
  for (const Job& job : plan.jobs)
    for (const double zeros : job.zeros.empty() ? std::vector<double>{-1} : job.zeros) {
      kernels::MeasureSpec spec = measure_spec(plan.spec, plan.baselines, job, Impl::kSparse);
      spec.zeros = {zeros};
      spec.stop = control.stop;
      const ScalingCase scaling{job.name(), job.op, zeros, kernels::measure_scaling(spec, plan.spec.threads)};
      if (scaling.result.rounds > 0) measured(scaling);  // otherwise stopped
    }
}

std::string scaling_header(int threads) {
  return fmt::format("{:<40}  {:<11}  {:>6}  {:>7}  {:>13}  {:>6}\n", "layer", "operation", "zeros",
                     fmt::format("x{}", threads), "register loop", "share");
}

std::string scaling_row(const ScalingCase& scaling) {
  const kernels::Scaling& s = scaling.result;
  return fmt::format("{:<40}  {:<11}  {:>6}  {:>7.2f}  {:>13.2f}  {:>5.0f}%\n", printable(scaling.layer),
                     operation_name(scaling.op),
                     scaling.zeros < 0 ? "trace" : fmt::format("{:.0f}%", 100 * scaling.zeros), s.ours,
                     s.registers, 100 * s.share());
}

std::string scaling_mean(const std::vector<ScalingCase>& all) {
  if (all.empty()) return "";
  double logs = 0;
  for (const ScalingCase& one : all) logs += std::log(one.result.share());
  return fmt::format("\ngeometric mean of the shares: {:.1f} % over {} cases\n",
                     100 * std::exp(logs / static_cast<double>(all.size())), all.size());
}

}  // namespace lacuna::bench
