#include "kernels/dispatch/calibrate.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kernels/dispatch/tensors.hpp"

namespace lacuna::kernels {
namespace {

// One thread is timed by its CPU time, which other processes cannot stretch; several by the wall clock.
double seconds_now(int threads) {
  return clock_seconds(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

std::string cost_key(const LayerShape& shape, const ConvOptions& o) {
  std::string key = machine_key() + " | " + shape.describe() + " n" + std::to_string(shape.n) + " g" +
                    std::to_string(shape.groups) + " d" + std::to_string(shape.dilation.h) + "x" +
                    std::to_string(shape.dilation.w) + " | " + std::string(operation_name(o.op));
  for (const int part :
       {static_cast<int>(o.checked.value_or(Checked::kActivations)), static_cast<int>(o.layout_of_dst()),
        static_cast<int>(o.layout_of_src()), static_cast<int>(o.weights), o.threads, static_cast<int>(o.bias),
        static_cast<int>(o.relu), static_cast<int>(o.allow_winograd), static_cast<int>(o.strict)})
    key.append(" ").append(std::to_string(part));
  if (o.allow_bfloat16) key.append(" bfloat16");
  return key.append(" ").append(o.isa);
}

// Time is proportional to the number of images, so a part of a large batch is enough: so many images that
// weights and lists take little time compared with the sums.
LayerShape calibration_shape(LayerShape shape, const ConvOptions& options) {
  constexpr std::int64_t kEnoughMacs = 300'000'000;  // per thread: some milliseconds
  // Winograd and bfloat16 transform their weights in every call: on few images they would never be chosen.
  const std::int64_t enough =
      kEnoughMacs * options.threads * (options.allow_winograd || options.allow_bfloat16 ? 6 : 1);
  const std::int64_t image = std::max<std::int64_t>(1, shape.macs() / shape.n);
  const std::int64_t images = (enough + image - 1) / image;
  shape.n = std::min(shape.n, std::max<std::int64_t>(images, 2));
  return shape;
}

class Timed {
 public:
  Timed(const LayerShape& shape, const ConvOptions& options, Impl which)
      : impl(which), plan_(shape, with(options, which)), data_(plan_) {}
  void fill(double zeros, std::uint64_t seed) { data_.fill_quickly(plan_, zeros, seed); }
  double run() {
    const int threads = plan_.options().threads;
    const double start = seconds_now(threads);
    plan_.run(data_.tensors());
    return seconds_now(threads) - start;
  }
  const Impl impl;

 private:
  static ConvOptions with(ConvOptions options, Impl which) {
    options.impl = which;
    return options;
  }
  ConvPlan plan_;
  PlanTensors data_;
};

// Of oneDNN's algorithms and bfloat16 the one that is fastest, in turn with the others; direct unless another
// wins clearly.
std::unique_ptr<Timed> fastest_dense(const LayerShape& shape, const ConvOptions& options) {
  std::vector<std::unique_ptr<Timed>> all;
  all.push_back(std::make_unique<Timed>(shape, options, Impl::kDenseDirect));
  std::vector<Impl> others = {Impl::kDenseGemm};
  if (options.allow_winograd) others.push_back(Impl::kDenseWinograd);
  if (options.allow_bfloat16) others.push_back(Impl::kBfloat16);
  for (const Impl impl : others) {
    try {
      all.push_back(std::make_unique<Timed>(shape, options, impl));
    } catch (const ConvError&) {  // not for this shape
    }
  }
  std::vector<double> least(all.size(), 1e30);
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->fill(0, 1);
  constexpr int kRounds = 3;
  constexpr double kHopeless = 1.5;  // times the direct time: not timed again
  for (int round = 0; round <= kRounds && all.size() > 1; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (least[i] < 1e30 && least[i] > kHopeless * least[0]) continue;
      const double seconds = all[i]->run();
      if (round > 0) least[i] = std::min(least[i], seconds);
    }
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (least[i] < CostCurve::kMargin * least[0] && least[i] < least[best]) best = i;
  return std::move(all[best]);
}

// What this process has measured, for callers whose cache folder cannot be written.
std::mutex& known_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::map<std::string, CostCurve>& known_costs() {
  static std::map<std::string, CostCurve> costs;
  return costs;
}

// The two least of some times: how far apart they are says whether the least can be trusted.
struct Least {
  double first = 1e30, second = 1e30;
  void add(double seconds) {
    if (seconds < first)
      second = first, first = seconds;
    else
      second = std::min(second, seconds);
  }
  double noise() const { return second / first - 1; }
};

constexpr double kCalm = 0.02;  // two times that agree so well end a measurement ...
constexpr int kMostRounds = 12;
constexpr double kNoisy = 0.10;  // ... and with this noise left at its end it is not kept
constexpr double kLost = 0.25;   // share of the time of several threads that other processes took

Calibration measured_cost(const LayerShape& shape, const ConvOptions& options) {
  const double wall = clock_seconds(CLOCK_MONOTONIC);
  const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  Timed sparse(shape, options, Impl::kSparse);
  const std::unique_ptr<Timed> dense = fastest_dense(shape, options);
  Calibration result;
  CostCurve& curve = result.curve;
  curve.dense_impl = dense->impl;
  Least dense_least;
  // The two are timed in turn, so that a disturbance affects both; the least times are kept.
  for (std::size_t i = 0; i < CostCurve::kZeros.size(); ++i) {
    sparse.fill(CostCurve::kZeros[i], 1 + i);
    dense->fill(CostCurve::kZeros[i], 1 + i);
    Least least;
    for (int round = 0; round <= kMostRounds; ++round) {
      const double dense_time = dense->run();
      const double sparse_time = sparse.run();
      if (round == 0) continue;  // warm-up: caches, pages
      dense_least.add(dense_time);
      least.add(sparse_time);
      if (round >= 3 && least.noise() < kCalm && dense_least.noise() < kCalm) break;
    }
    curve.sparse[i] = least.first;
    curve.noise = std::max(curve.noise, least.noise());
  }
  curve.dense = dense_least.first;
  curve.noise = std::max(curve.noise, dense_least.noise());
  const double used = (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / options.threads;
  result.lost = std::max(0.0, 1 - used / (clock_seconds(CLOCK_MONOTONIC) - wall));
  // One thread is timed by its CPU time, which other processes hardly change.
  result.busy = curve.noise > kNoisy || (options.threads > 1 && result.lost > kLost);
  return result;
}

CalibrationCount& counted() {
  static CalibrationCount count;
  return count;
}

}  // namespace

Calibration calibrate(const LayerShape& whole, const ConvOptions& options) {
  const LayerShape shape = calibration_shape(whole, options);
  const std::string key = cost_key(shape, options);
  const Calibration result = measured_cost(shape, options);
  {
    const std::lock_guard lock(known_mutex());
    known_costs()[key] = result.curve;
    ++counted().measured;
    counted().busy += result.busy ? 1 : 0;
  }
  if (!result.busy) CostCache::machine().store(key, result.curve);
  return result;
}

CalibrationCount calibrations() {
  const std::lock_guard lock(known_mutex());
  return counted();
}

CostCurve calibrated_cost(const LayerShape& whole, const ConvOptions& options) {
  const LayerShape shape = calibration_shape(whole, options);
  const std::string key = cost_key(shape, options);
  // Scales the time of the measured images to the whole batch.
  const auto scaled = [&](CostCurve curve) {
    const double images = static_cast<double>(whole.n) / static_cast<double>(shape.n);
    curve.dense *= images;
    for (double& seconds : curve.sparse) seconds *= images;
    return curve;
  };
  if (const auto known = CostCache::machine().find(key)) return scaled(*known);
  {
    const std::lock_guard lock(known_mutex());
    const auto known = known_costs().find(key);
    if (known != known_costs().end()) return scaled(known->second);
  }
  return scaled(calibrate(whole, options).curve);
}

}  // namespace lacuna::kernels
