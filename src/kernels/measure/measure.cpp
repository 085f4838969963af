#include "kernels/measure/measure.hpp"

#include <algorithm>
#include <optional>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "kernels/blocked.hpp"
#include "kernels/dense/dense_conv.hpp"
#include "kernels/dispatch/cost_model.hpp"
#include "kernels/dispatch/tensors.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

bool stopped(const MeasureSpec& spec) { return spec.stop && spec.stop(); }

double timed(int threads, const std::function<void()>& call) {
  const clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = clock_seconds(clock);
  call();
  return clock_seconds(clock) - start;
}

// oneDNN on values of its own: its time does not depend on them. Where the plan has blocked tensors, oneDNN
// has the layouts that it chooses; where the plan has plain ones, so has oneDNN, and its reorders count as
// the plan's do.
class Baseline {
 public:
  Baseline(const ConvPlan& plan, Impl algorithm)
      : conv_(plan.shape(), baseline_options(plan.options()), algorithm, is_native(plan.options())),
        src_(std::max(conv_.src_floats(), plan.src_size())),
        weights_(std::max(conv_.packed_floats(), plan.shape().w_elements())),
        dst_(std::max(conv_.dst_floats(), plan.dst_size())) {
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
  static bool is_native(const ConvOptions& options) { return options.layout == Layout::kBlocked; }
  static ConvOptions baseline_options(const ConvOptions& options) {
    ConvOptions o = options;
    if (is_native(options)) o.weights = WeightLayout::kPacked;
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

namespace {

// The checked operand once for each share of zeros; all else is shared.
struct Inputs {
  Inputs(const MeasureSpec& spec, ConvPlan& plan) : data(plan) {
    if (spec.nonzero)
      data.fill(plan, spec.nonzero, spec.seed);
    else
      data.fill(plan, spec.options.checked == Checked::kWeights ? spec.zeros.front() : 0.0, spec.seed);
    if (spec.nonzero_weight) zero_weights(spec, plan);
    if (spec.options.checked == Checked::kWeights) {
      zeros.push_back(count_zeros(data.plain_weights.data(), data.plain_weights.size(), 1));
      return;
    }
    activations = spec.options.op != Operation::kInputGrad &&
                  spec.options.checked.value_or(Checked::kActivations) == Checked::kActivations;
    const BlockedShape shape = activations ? blocked_src(spec.shape) : blocked_dst(spec.shape);
    AlignedFloats& filled = activations ? data.src : data.dst;
    const std::size_t variants = spec.nonzero ? 1 : spec.zeros.size();
    for (std::size_t v = 0; v < variants; ++v) {
      checked.emplace_back(filled.size());
      Random random(spec.seed + 1000 * v);
      for (std::int64_t i = 0; i < filled.size(); ++i)
        checked[v][i] = !spec.nonzero && random.chance(spec.zeros[v]) ? 0.0F : filled[i];
      const double stored = count_zeros(checked[v].data(), checked[v].size(), 1);
      zeros.push_back(1 - (1 - stored) * static_cast<double>(filled.size()) /
                              static_cast<double>(shape.plain_floats()));
    }
  }
  // In a plan that may skip either side.
  void zero_weights(const MeasureSpec& spec, ConvPlan& plan) {
    const LayerShape& s = spec.shape;
    std::int64_t i = 0;
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t c = 0; c < s.c_per_group(); ++c)
        for (std::int64_t tap = 0; tap < s.taps(); ++tap, ++i)
          if (!spec.nonzero_weight(k, c, tap)) data.plain_weights[i] = 0.0F;
    weight_zeros = count_zeros(data.plain_weights.data(), data.plain_weights.size(), 1);
    if (spec.options.op == Operation::kWeightGrad)
      plan.use_weights(data.plain_weights.data());
    else if (spec.options.weights == WeightLayout::kPacked)
      plan.pack_weights(data.plain_weights.data(), data.weights.data());
    else
      std::copy_n(data.plain_weights.data(), data.plain_weights.size(), data.weights.data());
  }
  ConvTensors tensors(std::size_t variant) {
    ConvTensors t = data.tensors();
    if (checked.empty()) return t;  // zeros in the weights
    (activations ? t.src : t.diff_dst) = checked[variant].data();
    return t;
  }
  PlanTensors data;
  std::vector<AlignedFloats> checked;
  std::vector<double> zeros;
  double weight_zeros = 0;
  bool activations = true;
};

// Another implementation on the same tensors, with weights in its own order: that of SparseTrain's authors,
// or kAuto in single precision.
class OtherPlan {
 public:
  OtherPlan(const MeasureSpec& spec, Impl impl, const PlanTensors& data)
      : plan_(spec.shape, options_of(spec, impl)) {
    weights_ = AlignedFloats(plan_.weights_size());
    if (spec.options.op == Operation::kWeightGrad) return;
    if (spec.options.weights == WeightLayout::kPacked)
      plan_.pack_weights(data.plain_weights.data(), weights_.data());
    else
      std::copy_n(data.plain_weights.data(), weights_.size(), weights_.data());
  }
  void run(ConvTensors tensors) {
    tensors.weights = tensors.diff_weights = weights_.data();
    plan_.run(tensors);
  }
  const char* kernel() const { return plan_.kernel(); }

 private:
  static ConvOptions options_of(const MeasureSpec& spec, Impl impl) {
    ConvOptions options = spec.options;
    options.impl = impl;
    options.allow_bfloat16 = false;
    return options;
  }
  ConvPlan plan_;
  AlignedFloats weights_;
};

}  // namespace

double Measurement::x_best() const {
  double best = std::min(x_direct, x_auto);
  for (const BaselineResult& baseline : baselines)
    if (baseline.ratio > 0) best = std::min(best, baseline.ratio);
  return best;
}

std::vector<Measurement> measure(const MeasureSpec& spec) {
  if (spec.options.checked == Checked::kWeights && !spec.nonzero && spec.zeros.size() > 1) {
    // A plan keeps one set of non-zero weights.
    std::vector<Measurement> all;
    for (const double share : spec.zeros) {
      MeasureSpec one = spec;
      one.zeros = {share};
      all.push_back(measure(one).front());
    }
    return all;
  }
  ConvPlan plan(spec.shape, spec.options);
  Inputs inputs(spec, plan);
  const std::size_t variants = inputs.zeros.size();
  Baseline direct(plan, Impl::kDenseDirect);
  std::unique_ptr<Baseline> automatic;
  if (spec.with_auto) {
    automatic = std::make_unique<Baseline>(plan, Impl::kDenseAuto);
    if (automatic->name() == direct.name()) automatic.reset();
  }
  std::optional<OtherPlan> authors, float32;
  if (spec.with_sparsetrain) authors.emplace(spec, Impl::kSparseTrain, inputs.data);
  if (spec.with_float32) float32.emplace(spec, Impl::kAuto, inputs.data);
  std::vector<std::unique_ptr<Baseline>> others;
  for (const Impl impl : spec.baselines) {
    try {
      others.push_back(std::make_unique<Baseline>(plan, impl));
    } catch (const ConvError&) {  // not for this shape
      others.push_back(nullptr);
    }
  }
  const int threads = spec.options.threads;
  struct Times {
    std::vector<double> ours, x_direct, x_auto, authors, authors_x_direct, float32, x_float32;
    std::vector<std::vector<double>> x_others;
  };
  std::vector<Times> times(variants);
  std::vector<Measurement> result(variants);
  std::vector<double> directs, autos;
  std::vector<std::vector<double>> other_times(others.size());
  for (Times& t : times) t.x_others.resize(others.size());
  const double start = clock_seconds(CLOCK_MONOTONIC);
  for (int round = 0; round <= spec.max_rounds && !stopped(spec); ++round) {
    const double d = timed(threads, [&] { direct.run(); });
    const double a = automatic ? timed(threads, [&] { automatic->run(); }) : d;
    std::vector<double> o(others.size(), 0.0);
    for (std::size_t i = 0; i < others.size(); ++i)
      if (others[i]) o[i] = timed(threads, [&] { others[i]->run(); });
    for (std::size_t v = 0; v < variants; ++v) {
      const ConvTensors tensors = inputs.tensors(v);
      ConvRun done;
      const double t = timed(threads, [&] { done = plan.run(tensors); });
      result[v].used = done.used;
      result[v].skipped = done.skipped;
      const double s = authors ? timed(threads, [&] { authors->run(tensors); }) : 0;
      const double f = float32 ? timed(threads, [&] { float32->run(tensors); }) : 0;
      if (round == 0) continue;  // warm-up: pages and caches
      if (float32) {
        times[v].float32.push_back(f);
        times[v].x_float32.push_back(f / t);
      }
      times[v].ours.push_back(t);
      times[v].x_direct.push_back(d / t);
      times[v].x_auto.push_back(a / t);
      for (std::size_t i = 0; i < others.size(); ++i) times[v].x_others[i].push_back(o[i] / t);
      if (!authors) continue;
      times[v].authors.push_back(s);
      times[v].authors_x_direct.push_back(d / s);
    }
    if (round == 0) continue;
    for (std::size_t i = 0; i < others.size(); ++i) other_times[i].push_back(o[i]);
    directs.push_back(d);
    autos.push_back(a);
    if (round >= spec.min_rounds && clock_seconds(CLOCK_MONOTONIC) - start > spec.seconds) break;
  }
  if (directs.empty()) return {};
  for (std::size_t v = 0; v < variants; ++v) {
    Measurement& m = result[v];
    const bool in_weights = spec.options.or_weights && m.skipped == Checked::kWeights;
    m.zeros = in_weights ? inputs.weight_zeros : inputs.zeros[v];
    m.rounds = static_cast<int>(directs.size());
    m.x_direct = median(times[v].x_direct);
    m.x_auto = median(times[v].x_auto);
    m.seconds = median(times[v].ours);
    m.sparsetrain_seconds = median(times[v].authors);
    m.sparsetrain_x_direct = median(times[v].authors_x_direct);
    m.direct_seconds = median(directs);
    m.auto_seconds = median(autos);
    m.kernel = plan.kernel();
    m.direct_kernel = direct.name();
    m.auto_kernel = automatic ? automatic->name() : direct.name();
    for (std::size_t i = 0; i < others.size(); ++i)
      m.baselines.push_back({spec.baselines[i], median(times[v].x_others[i]), median(other_times[i]),
                             others[i] ? others[i]->name() : ""});
    if (float32)
      m.baselines.push_back(
          {Impl::kAuto, median(times[v].x_float32), median(times[v].float32), float32->kernel()});
  }
  return result;
}

namespace {

double peak_seconds(int threads) {
  constexpr std::int64_t kTurns = 400000;  // about 2 ms
  const MicroKernels& kernels = micro_kernels(best_isa());
  double operations = 0;
  const double start = clock_seconds(CLOCK_MONOTONIC);
#pragma omp parallel num_threads(threads) reduction(+ : operations)
  operations += kernels.peak(kTurns);
  return (clock_seconds(CLOCK_MONOTONIC) - start) / operations;
}

}  // namespace

Scaling measure_scaling(const MeasureSpec& spec, int threads) {
  MeasureSpec one = spec;
  one.options.threads = 1;
  MeasureSpec many = spec;
  many.options.threads = threads;
  ConvPlan plan_one(one.shape, one.options);
  ConvPlan plan_many(many.shape, many.options);
  Inputs inputs(one, plan_one);
  const ConvTensors tensors = inputs.tensors(0);
  auto wall = [](const std::function<void()>& call) { return timed(2, call); };
  std::vector<double> ours, registers;
  const double start = clock_seconds(CLOCK_MONOTONIC);
  for (int round = 0; round <= spec.max_rounds && !stopped(spec); ++round) {
    const double p1 = peak_seconds(1);
    const double t1 = wall([&] { plan_one.run(tensors); });
    const double pn = peak_seconds(threads);
    const double tn = wall([&] { plan_many.run(tensors); });
    if (round == 0) continue;
    ours.push_back(t1 / tn);
    registers.push_back(p1 / pn);
    if (round >= spec.min_rounds && clock_seconds(CLOCK_MONOTONIC) - start > spec.seconds) break;
  }
  return {median(ours), median(registers), static_cast<int>(ours.size())};
}

double peak_gflops(int threads) {
  double best = 0;
  for (int round = 0; round < 5; ++round) best = std::max(best, 1e-9 / peak_seconds(threads));
  return best;
}

}  // namespace lacuna::kernels
