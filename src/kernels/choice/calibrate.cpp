#include "kernels/choice/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/core_wait.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/measure/race.hpp"
#include "kernels/measure/timed.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

std::string cost_key(const LayerShape& shape, const ConvOptions& o) {
  std::string key = machine_key() + " | " + shape.describe() + " n" + std::to_string(shape.n) + " g" +
                    std::to_string(shape.groups) + " d" + std::to_string(shape.dilation.h) + "x" +
                    std::to_string(shape.dilation.w) + " | " + std::string(operation_name(o.op));
  for (const int part :
       {static_cast<int>(o.checked.value_or(Operand::kA)), static_cast<int>(o.layout_of_dst()),
        static_cast<int>(o.layout_of_src()), static_cast<int>(o.weights), o.threads, static_cast<int>(o.bias),
        static_cast<int>(o.relu), static_cast<int>(o.allow_winograd), static_cast<int>(o.strict)})
    key.append(" ").append(std::to_string(part));
  if (o.allow_bfloat16) key.append(" bfloat16");
  if (o.takes_needed()) key.append(" needed");
  return key.append(" ").append(o.isa);
}

// Time is proportional to the number of images, so a part of a large batch is enough: as many images
// as make the time of weights and lists small compared with that of the sums.
LayerShape calibration_shape(LayerShape shape, const ConvOptions& options) {
  constexpr std::int64_t kEnoughMacs = 300'000'000;  // per thread: some milliseconds
  const std::int64_t enough =
      kEnoughMacs * options.threads * (options.allow_winograd || options.allow_bfloat16 ? 4 : 1);
  const std::int64_t image = std::max<std::int64_t>(1, shape.macs() / shape.n);
  std::int64_t images = (enough + image - 1) / image;
  // Winograd and bfloat16 transform their weights in every call, which takes as long as a thousand pixels or
  // two: 3x3 512->512 @14x14 seemed 1.6 times as slow on 3 images as on 16.
  constexpr std::int64_t kEnoughPixels = 12544;
  const bool winograd =
      options.allow_winograd && shape.kernel.h == 3 && shape.kernel.w == 3 && shape.stride.h == 1;
  if (winograd || options.allow_bfloat16)
    images = std::max(images, kEnoughPixels / std::max<std::int64_t>(1, shape.output.h * shape.output.w));
  shape.n = std::min(shape.n, std::max<std::int64_t>(images, 2));
  return shape;
}

// State of this process.
struct Known {
  std::mutex mutex;                        // of the rest
  std::map<std::string, CostCurve> costs;  // measured here, for callers whose cache folder cannot be written
  CalibrationCount count;
  std::array<double, 3> best_rates{};  // of CoreShare; the third is used, in case a clock has slipped
};
Known& known() {
  static Known state;
  return state;
}

// The share of the core's multiply-add throughput that this thread gets. A loop of multiply-adds in registers
// always takes the same time, unless another program uses the other hardware thread of the core.
class CoreShare {
 public:
  // With several threads the wall clock shows more, and the others would wait and fall asleep.
  explicit CoreShare(int threads) : alone_(threads == 1) {}
  // Between two rounds.
  void probe() {
    if (!alone_) return;
    constexpr std::int64_t kTurns = 6000;  // about 20 us
    const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    const double operations = micro_kernels(best_isa()).peak(kTurns);
    const double rate = operations / (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start);
    rates_.push_back(rate);
    const std::lock_guard lock(known().mutex);
    std::array<double, 3>& best = known().best_rates;
    if (rate > best.front()) best.front() = rate;
    std::sort(best.begin(), best.end());
  }
  double contention() const {
    if (rates_.empty()) return 0;
    const std::lock_guard lock(known().mutex);
    return std::clamp(1 - median(rates_) / known().best_rates.front(), 0.0, 1.0);
  }

 private:
  bool alone_;
  std::vector<double> rates_;
};

// Returns true if these options allow choosing this kernel, which skips nothing: for measurements, and for
// choices read from a file.
bool may_be_chosen(const ConvImplementation& one, const ConvOptions& options) {
  return one.skips == Skips::kNothing && one.may_choose != nullptr && one.may_choose(options);
}

// The fastest of the kernels that skip nothing, timed interleaved with direct; direct unless another wins.
std::unique_ptr<TimedPlan> fastest_dense(const LayerShape& shape, const ConvOptions& options,
                                         PlanTensors& data, const RaceLimits& limits, CoreShare& core) {
  auto direct = std::make_unique<TimedPlan>(shape, options, Impl::kDenseDirect);
  direct->take_weights(data);
  direct->seconds(data);  // warm-up: caches, pages
  const double direct_seconds = direct->seconds(data);
  std::vector<std::unique_ptr<TimedPlan>> rivals;
  for (const ConvImplementation* one : conv_implementations()) {
    if (!may_be_chosen(*one, options) || one->impl() == Impl::kDenseDirect) continue;
    try {
      auto rival = std::make_unique<TimedPlan>(shape, options, one->impl());
      rival->take_weights(data);
      for (int i = 0; i < one->warm_up_runs; ++i) rival->seconds(data);
      constexpr double kHopeless = 1.4;  // times the direct time
      if (rival->seconds(data) < kHopeless * direct_seconds) rivals.push_back(std::move(rival));
    } catch (const ConvError&) {  // not for this shape
    }
  }
  if (rivals.empty()) return direct;
  std::vector<std::function<double()>> calls;
  calls.reserve(rivals.size());
  for (const auto& rival : rivals) calls.emplace_back([&] { return rival->seconds(data); });
  const RaceResult raced = race(
      [&] {
        core.probe();
        return direct->seconds(data);
      },
      calls, limits);
  constexpr double kWins = 0.98;
  double best = kWins;
  std::unique_ptr<TimedPlan> fastest = std::move(direct);
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    // A shared core slows reorders down less than arithmetic.
    const bool reorders = find_implementation(rivals[i]->impl())->reorders;
    const double wins = kWins - (reorders ? contention_margin(core.contention()) : 0);
    if (raced.ratios[i] < std::min(best, wins)) best = raced.ratios[i], fastest = std::move(rivals[i]);
  }
  return fastest;
}

constexpr int kProbes = 50;      // a millisecond: some of them without competition for the core
constexpr double kNoisy = 0.05;  // error of a measurement above which it is not kept
constexpr double kLost = 0.10;   // share of the time of several threads that other processes took

Calibration measured_cost(const LayerShape& shape, const ConvOptions& options, double seconds) {
  const CoreTimes before = core_times(0);
  const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  // Close to a tie, which is where a wrong choice is made, the noise decides how long it measures.
  RaceLimits limits;
  limits.precision = 0.01;
  limits.close = 0.35;
  limits.min_rounds = 3;
  limits.max_rounds = 25;
  limits.seconds = seconds / static_cast<double>(CostCurve::kZeros.size() + 1);
  TimedPlan sparse(shape, options, Impl::kSparse);
  PlanTensors data(sparse.plan());
  data.fill_quickly(sparse.plan(), 0, 1);
  sparse.take_weights(data);
  CoreShare core(options.threads);
  for (int i = 0; i < kProbes; ++i) core.probe();
  const std::unique_ptr<TimedPlan> dense = fastest_dense(shape, options, data, limits, core);
  Calibration result;
  CostCurve& curve = result.curve;
  curve.dense_impl = dense->impl();
  std::vector<double> dense_times;
  std::array<double, CostCurve::kZeros.size()> speedups{};
  for (std::size_t i = 0; i < CostCurve::kZeros.size(); ++i) {
    data.fill_quickly(sparse.plan(), CostCurve::kZeros[i], 1 + i, true);
    if (options.checked == Operand::kW) sparse.take_weights(data), dense->take_weights(data);
    sparse.seconds(data);  // warm-up: caches, pages
    const RaceResult raced = race(
        [&] {
          core.probe();
          return sparse.seconds(data);
        },
        {[&] {
          dense_times.push_back(dense->seconds(data));
          return dense_times.back();
        }},
        limits);
    speedups[i] = raced.ratios[0];
    // Far from a tie, noise changes no choice.
    if (std::abs(raced.ratios[0] - 1) < limits.close) curve.noise = std::max(curve.noise, raced.errors[0]);
  }
  curve.contention = core.contention();
  curve.dense = median(dense_times);
  for (std::size_t i = 0; i < speedups.size(); ++i) curve.sparse[i] = curve.dense / speedups[i];
  // Relative to the time in which threads wanted a core: not while they sleep and one of them fills tensors.
  const double lost = lost_to_others(before, core_times(0));
  result.lost = lost / (lost + clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  // One thread is timed by its CPU time, which other processes hardly change.
  result.busy = curve.noise > kNoisy || (options.threads > 1 && result.lost > kLost);
  return result;
}

}  // namespace

Calibration calibrate(const LayerShape& whole, const ConvOptions& options, double seconds) {
  const LayerShape shape = calibration_shape(whole, options);
  const std::string key = cost_key(shape, options);
  const Calibration result = measured_cost(shape, options, seconds);
  {
    const std::lock_guard lock(known().mutex);
    known().costs[key] = result.curve;
    ++known().count.measured;
    known().count.busy += result.busy ? 1 : 0;
  }
  if (!result.busy) CostCache::machine().store(key, result.curve);
  return result;
}

std::string calibration_key(const LayerShape& whole, const ConvOptions& options) {
  return cost_key(calibration_shape(whole, options), options);
}

CalibrationCount calibrations() {
  const std::lock_guard lock(known().mutex);
  return known().count;
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
  const auto kept = CostCache::machine().find(key);
  if (kept && may_be_chosen(*find_implementation(kept->dense_impl), options)) return scaled(*kept);
  {
    const std::lock_guard lock(known().mutex);
    const auto measured = known().costs.find(key);
    if (measured != known().costs.end()) return scaled(measured->second);
  }
  return scaled(calibrate(whole, options).curve);
}

}  // namespace lacuna::kernels
