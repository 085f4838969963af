#include "kernels/dispatch/calibrate.hpp"

#include <algorithm>
#include <string>
#include <time.h>
#include <vector>

#include "kernels/dispatch/tensors.hpp"

namespace lacuna::kernels {
namespace {

// One thread is timed by its CPU time, which other processes cannot stretch; several by the wall clock.
double seconds_now(int threads) {
  timespec t{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
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
  return key.append(" ").append(o.isa);
}

// Time is proportional to the number of images, so a part of a large batch is enough: so many images that
// weights and lists take little time compared with the sums.
LayerShape calibration_shape(LayerShape shape, int threads) {
  constexpr std::int64_t kEnoughMacs = 300'000'000;  // per thread: some milliseconds
  const std::int64_t image = std::max<std::int64_t>(1, shape.macs() / shape.n);
  const std::int64_t images = (kEnoughMacs * threads + image - 1) / image;
  shape.n = std::min(shape.n, std::max<std::int64_t>(images, 2));
  return shape;
}

}  // namespace

CostCurve calibrated_cost(const LayerShape& whole, const ConvOptions& options) {
  const LayerShape shape = calibration_shape(whole, options.threads);
  const std::string key = cost_key(shape, options);
  // Scales the time of the measured images to the whole batch.
  const auto scaled = [&](CostCurve curve) {
    const double images = static_cast<double>(whole.n) / static_cast<double>(shape.n);
    curve.dense *= images;
    for (double& seconds : curve.sparse) seconds *= images;
    return curve;
  };
  if (const auto known = CostCache::machine().find(key)) return scaled(*known);
  ConvOptions sparse_options = options;
  sparse_options.impl = Impl::kSparse;
  ConvOptions dense_options = options;
  dense_options.impl = options.allow_winograd ? Impl::kDenseAuto : Impl::kDenseDirect;
  ConvPlan sparse(shape, sparse_options);
  ConvPlan dense(shape, dense_options);
  PlanTensors sparse_data(sparse);
  PlanTensors dense_data(dense);
  // The two are timed in turn, so that a disturbance affects both; the least of a few times is kept.
  constexpr int kRounds = 3;
  CostCurve curve;
  curve.dense = 1e30;
  for (std::size_t i = 0; i < CostCurve::kZeros.size(); ++i) {
    sparse_data.fill_quickly(sparse, CostCurve::kZeros[i], 1 + i);
    dense_data.fill_quickly(dense, CostCurve::kZeros[i], 1 + i);
    curve.sparse[i] = 1e30;
    for (int round = 0; round <= kRounds; ++round) {
      double start = seconds_now(options.threads);
      dense.run(dense_data.tensors());
      const double dense_time = seconds_now(options.threads) - start;
      start = seconds_now(options.threads);
      sparse.run(sparse_data.tensors());
      const double sparse_time = seconds_now(options.threads) - start;
      if (round == 0) continue;  // warm-up: caches, pages
      curve.dense = std::min(curve.dense, dense_time);
      curve.sparse[i] = std::min(curve.sparse[i], sparse_time);
    }
  }
  CostCache::machine().store(key, curve);
  return scaled(curve);
}

}  // namespace lacuna::kernels
