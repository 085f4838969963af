#include "bench/calibration/calibration.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

#include "base/text/quote.hpp"
#include "base/text/text_table.hpp"

namespace lacuna::bench {
namespace {

using kernels::CostCache;
using kernels::CostCurve;

std::string curve_header() {
  return fmt::format("{:>9}  {:<9}  {:>11}  {:>8}  {:>6}  {:>6}", "dense ms", "by", "at 95 % ms", "sparse",
                     "noise", "shared");
}

std::string curve_cells(const CostCurve& curve) {
  const double share = curve.crossover();
  return fmt::format("{:>9.3f}  {:<9}  {:>11.3f}  {:>8}  {:>5.1f}%  {:>5.0f}%", 1e3 * curve.dense,
                     impl_name(curve.dense_impl), 1e3 * curve.sparse.back(),
                     share > 1 ? "never" : fmt::format("{:.0f} %", 100 * share), 100 * curve.noise,
                     100 * curve.contention);
}

}  // namespace

void calibrate_layers(const LayersPlan& plan, const std::function<void(const std::string&)>& measured) {
  for (const Job& job : plan.jobs) {
    const kernels::MeasureSpec spec = measure_spec(plan.spec, plan.baselines, job, kernels::Impl::kAuto);
    if (is_part_grouped(spec.shape)) continue;
    kernels::ConvOptions one_side = spec.options;
    one_side.or_weights = false;
    for (const bool weights : {false, true}) {
      if (weights && !job.either_side) continue;
      if (weights) one_side.checked = Operand::kW;
      const kernels::Calibration c = kernels::calibrate(spec.shape, one_side, 1.0);
      measured(fmt::format(
          "{:<40}  {:<28}  {:<11}  {}  {}\n", printable(job.name()), spec.shape.describe(),
          operation_name(job.op), curve_cells(c.curve),
          c.busy ? fmt::format("no: busy, {:.0f} % of the time went to other processes", 100 * c.lost)
                 : "yes"));
    }
  }
}

std::string calibration_header() {
  return fmt::format("{:<40}  {:<28}  {:<11}  {}  {}\n", "layer", "shape", "operation", curve_header(),
                     "kept");
}

std::string calibration_table() {
  CostCache& cache = CostCache::machine();
  std::string text =
      fmt::format("{}, kept for {} days; for {}\n\n{}  {:>8}  {}\n",
                  cache.path().empty() ? "no cache folder" : printable(cache.path()), CostCache::kDaysKept,
                  kernels::machine_key(), curve_header(), "days ago", "shape | operation and options");
  const auto now = static_cast<double>(std::time(nullptr));
  const std::string machine = kernels::machine_key() + " | ";
  const kernels::CostLines lines = cache.all();
  for (const auto& [key, curve] : lines.curves)
    if (key.starts_with(machine))
      text +=
          fmt::format("{}  {:>8.1f}  {}\n", curve_cells(curve),
                      (now - static_cast<double>(curve.when)) / 86400, printable(key.substr(machine.size())));
  for (const std::string& key : lines.dropped)
    text += fmt::format("damaged or too old, measured again when it is needed: {}\n",
                        quote_name(key.substr(std::min(key.size(), machine.size()))));
  return text;
}

std::string calibration_note() {
  const kernels::CalibrationCount count = kernels::calibrations();
  if (count.busy == 0) return "";
  return fmt::format(
      "\nthe machine was busy while {} of {} shapes were measured: those choices hold for this run and are "
      "not kept; run lacuna bench calibrate when it is idle\n",
      count.busy, count.measured);
}

}  // namespace lacuna::bench
