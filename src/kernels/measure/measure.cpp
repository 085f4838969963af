#include "kernels/measure/measure.hpp"

#include <algorithm>
#include <time.h>

#include "kernels/blocked.hpp"
#include "kernels/dense/dense_conv.hpp"
#include "kernels/dispatch/cost_model.hpp"
#include "kernels/dispatch/tensors.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

double clock_seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double timed(int threads, const std::function<void()>& call) {
  const clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = clock_seconds(clock);
  call();
  return clock_seconds(clock) - start;
}

// oneDNN in the layouts it likes best, on values of its own: its time does not depend on them.
class Baseline {
 public:
  Baseline(const LayerShape& shape, const ConvOptions& options, Impl algorithm)
      : conv_(shape, native_options(options), algorithm, true),
        src_(conv_.src_floats()),
        weights_(conv_.packed_floats()),
        dst_(conv_.dst_floats()) {
    for (AlignedFloats* tensor : {&src_, &weights_, &dst_})
      for (std::int64_t i = 0; i < tensor->size(); ++i)
        (*tensor)[i] = static_cast<float>((i * 2654435761U >> 16 & 0xff) + 1) / 256.0F - 0.5F;
    tensors_.src = src_.data();
    tensors_.weights = weights_.data();
    tensors_.diff_dst = dst_.data();
    tensors_.dst = dst_.data();
    tensors_.diff_src = src_.data();
    tensors_.diff_weights = weights_.data();
  }
  void run() { conv_.run(tensors_); }
  std::string name() const { return conv_.name(); }

 private:
  static ConvOptions native_options(const ConvOptions& options) {
    ConvOptions o = options;
    o.weights = WeightLayout::kPacked;
    o.bias = o.relu = false;
    return o;
  }
  DenseConv conv_;
  AlignedFloats src_, weights_, dst_;
  ConvTensors tensors_;
};

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Measurement measure(const MeasureSpec& spec) {
  Measurement m;
  ConvPlan plan(spec.shape, spec.options);
  PlanTensors data(plan);
  if (spec.nonzero)
    data.fill(plan, spec.nonzero, spec.seed);
  else
    data.fill(plan, spec.zeros, spec.seed);
  const bool activations = spec.options.op != Op::kInputGrad &&
                           spec.options.checked.value_or(Checked::kActivations) == Checked::kActivations;
  const BlockedShape shape = activations ? blocked_src(spec.shape) : blocked_dst(spec.shape);
  const AlignedFloats& checked = activations ? data.src : data.dst;
  const double stored = count_zeros(checked.data(), checked.size(), 1);
  m.zeros =
      1 - (1 - stored) * static_cast<double>(checked.size()) / static_cast<double>(shape.plain_floats());

  Baseline direct(spec.shape, spec.options, Impl::kDenseDirect);
  std::unique_ptr<Baseline> automatic;
  if (spec.with_auto) {
    automatic = std::make_unique<Baseline>(spec.shape, spec.options, Impl::kDenseAuto);
    if (automatic->name() == direct.name()) automatic.reset();
  }
  m.kernel = plan.kernel();
  m.direct_kernel = direct.name();
  m.auto_kernel = automatic ? automatic->name() : direct.name();
  const int threads = spec.options.threads;
  std::vector<double> ours, directs, autos, x_direct, x_auto;
  const double start = clock_seconds(CLOCK_MONOTONIC);
  const ConvTensors tensors = data.tensors();
  for (int round = 0; round <= spec.max_rounds; ++round) {
    const double d = timed(threads, [&] { direct.run(); });
    const double a = automatic ? timed(threads, [&] { automatic->run(); }) : d;
    const double t = timed(threads, [&] { m.used = plan.run(tensors).used; });
    if (round == 0) continue;  // pages and caches
    directs.push_back(d);
    autos.push_back(a);
    ours.push_back(t);
    x_direct.push_back(d / t);
    x_auto.push_back(a / t);
    if (round >= spec.min_rounds && clock_seconds(CLOCK_MONOTONIC) - start > spec.seconds) break;
  }
  m.rounds = static_cast<int>(ours.size());
  m.x_direct = median(x_direct);
  m.x_auto = median(x_auto);
  m.seconds = median(ours);
  m.direct_seconds = median(directs);
  m.auto_seconds = median(autos);
  return m;
}

double peak_gflops(int threads) {
  const MicroKernels& kernels = micro_kernels(best_isa());
  constexpr std::int64_t kTurns = 300000;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const double start = clock_seconds(CLOCK_MONOTONIC);
    double operations = 0;
#pragma omp parallel num_threads(threads) reduction(+ : operations)
    operations += kernels.peak(kTurns);
    best = std::max(best, operations / (clock_seconds(CLOCK_MONOTONIC) - start) / 1e9);
  }
  return best;
}

}  // namespace lacuna::kernels
