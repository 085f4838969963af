#include "cli/commands/bench_calibration.hpp"

#include <ctime>
#include <fmt/format.h>

#include "base/text/text_table.hpp"

namespace lacuna::cli {
namespace {

using kernels::CostCache;
using kernels::CostCurve;

std::string sparse_from(const CostCurve& curve) {
  const double share = curve.crossover();
  return share > 1 ? "never" : fmt::format("{:.0f} %", 100 * share);
}

}  // namespace

std::string calibration_table() {
  CostCache& cache = CostCache::machine();
  std::string text = fmt::format("{}, kept for {} days; for {}\n\n",
                                 cache.path().empty() ? "no cache folder" : printable(cache.path()),
                                 CostCache::kDaysKept, kernels::machine_key());
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:>9}  {:<9}  {:>11}  {:>8}  {:>6}  {:>6}  {:>8}  {}\n", "dense ms", "by",
                 "at 95 % ms", "sparse", "noise", "shared", "days ago", "shape | operation and options");
  const auto now = static_cast<double>(std::time(nullptr));
  const std::string machine = kernels::machine_key() + " | ";
  for (const auto& [key, curve] : cache.all()) {
    if (!key.starts_with(machine)) continue;
    fmt::format_to(out, "{:>9.3f}  {:<9}  {:>11.3f}  {:>8}  {:>5.1f}%  {:>5.0f}%  {:>8.1f}  {}\n",
                   1e3 * curve.dense, impl_name(curve.dense_impl), 1e3 * curve.sparse.back(),
                   sparse_from(curve), 100 * curve.noise, 100 * curve.contention,
                   (now - static_cast<double>(curve.when)) / 86400, printable(key.substr(machine.size())));
  }
  return text;
}

std::string calibration_header() {
  return fmt::format("{:<40}  {:<28}  {:<11}  {:>9}  {:<9}  {:>11}  {:>8}  {:>6}  {:>6}  {}\n", "layer",
                     "shape", "operation", "dense ms", "by", "at 95 % ms", "sparse", "noise", "shared",
                     "kept");
}

std::string calibration_row(const std::string& name, const std::string& shape, Operation op,
                            const kernels::Calibration& c) {
  const CostCurve& curve = c.curve;
  return fmt::format(
      "{:<40}  {:<28}  {:<11}  {:>9.3f}  {:<9}  {:>11.3f}  {:>8}  {:>5.1f}%  {:>5.0f}%  {}\n",
      printable(name), shape, operation_name(op), 1e3 * curve.dense, impl_name(curve.dense_impl),
      1e3 * curve.sparse.back(), sparse_from(curve), 100 * curve.noise, 100 * curve.contention,
      c.busy ? fmt::format("no: busy, {:.0f} % of the time went to other processes", 100 * c.lost)
             : std::string("yes"));
}

std::string calibration_note() {
  const kernels::CalibrationCount count = kernels::calibrations();
  if (count.busy == 0) return "";
  return fmt::format(
      "\nthe machine was busy while {} of {} shapes were measured: those choices hold for this run and are "
      "not kept; run lacuna bench --calibrate when it is idle\n",
      count.busy, count.measured);
}

}  // namespace lacuna::cli
