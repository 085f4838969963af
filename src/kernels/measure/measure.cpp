#include "kernels/measure/measure.hpp"

#include <algorithm>
#include <optional>

#include "base/clock.hpp"
#include "kernels/choice/calibrate.hpp"
#include "kernels/choice/cost_model.hpp"
#include "kernels/layout/blocked.hpp"
#include "kernels/measure/baseline.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

bool stopped(const MeasureSpec& spec) { return spec.stop && spec.stop(); }

double timed(int threads, const std::function<void()>& call) {
  const double start = timing_clock(threads);
  call();
  return timing_clock(threads) - start;
}

// The checked operand once for each share of zeros; all else is shared.
struct Inputs {
  Inputs(const MeasureSpec& spec, ConvPlan& plan) : data(plan), threads(spec.options.threads) {
    if (spec.nonzero)
      data.fill(plan, spec.nonzero, spec.seed);
    else
      data.fill_quickly(plan, spec.options.checked == Operand::kW ? spec.zeros.front() : 0.0, spec.seed);
    if (spec.nonzero_weight) zero_weights(spec, plan);
    if (spec.options.checked == Operand::kW) {
      zeros.push_back(count_zeros(data.plain_weights.data(), data.plain_weights.size(), 1));
      return;
    }
    activations =
        spec.options.op != Operation::kInputGrad && spec.options.checked.value_or(Operand::kA) == Operand::kA;
    const BlockedShape shape = activations ? blocked_src(spec.shape) : blocked_dst(spec.shape);
    AlignedFloats& filled = activations ? data.src : data.dst;
    const std::size_t variants = spec.nonzero ? 1 : spec.zeros.size();
    for (std::size_t v = 0; v < variants; ++v) {
      checked.emplace_back(filled.size());
      if (!spec.nonzero) data.refill_quickly(plan, spec.zeros[v], spec.seed + 1 + v);
      copy(filled, checked[v], spec.options.threads);
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
  // All variants take turns in the same memory: the same kernel in other memory was measured up to half as
  // fast, by how the tensors lie.
  ConvTensors tensors(std::size_t variant) {
    if (!checked.empty() && variant != current) {  // otherwise the zeros are in the weights
      AlignedFloats& filled = activations ? data.src : data.dst;
      copy(checked[variant], filled, threads);
      current = variant;
    }
    return data.tensors();
  }
  static void copy(const AlignedFloats& from, AlignedFloats& to, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < from.size(); ++i) to[i] = from[i];
  }
  PlanTensors data;
  int threads;
  std::vector<AlignedFloats> checked;
  std::vector<double> zeros;
  double weight_zeros = 0;
  std::size_t current = static_cast<std::size_t>(-1);
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

// The same implementation on separate, blocked tensors with the same zeros.
class OnBlocked {
 public:
  explicit OnBlocked(const MeasureSpec& spec)
      : spec_(blocked(spec)), plan_(spec_.shape, spec_.options), inputs_(spec_, plan_) {}
  double seconds(std::size_t variant) {
    const ConvTensors tensors = inputs_.tensors(variant);
    return timed(spec_.options.threads, [&] { plan_.run(tensors); });
  }

 private:
  static MeasureSpec blocked(MeasureSpec spec) {
    spec.options.layout = Layout::kBlocked;
    return spec;
  }
  MeasureSpec spec_;
  ConvPlan plan_;
  Inputs inputs_;
};

// The plan and its rivals, timed interleaved in one process.
class Paired {
 public:
  explicit Paired(const MeasureSpec& spec)
      : spec_(spec), plan_(spec.shape, spec.options), inputs_(spec, plan_), variants_(inputs_.zeros.size()) {
    direct_ = baselines_.add(plan_, Impl::kDenseDirect);
    if (direct_ == Baselines::kNone) Baseline(plan_, Impl::kDenseDirect);  // throws the reason
    automatic_ = spec.with_auto ? baselines_.add(plan_, Impl::kDenseAuto) : direct_;
    if (automatic_ == Baselines::kNone) automatic_ = direct_;
    for (const Impl impl : spec.baselines) others_.push_back(baselines_.add(plan_, impl));
    if (spec.with_sparsetrain) authors_.emplace(spec, Impl::kSparseTrain, inputs_.data);
    if (spec.with_float32) float32_.emplace(spec, Impl::kAuto, inputs_.data);
    if (spec.with_blocked) blocked_.emplace(spec);
    dense_times_.resize(baselines_.size());
    for (Variant& v : variants_) v.ratios.resize(baselines_.size());
  }

  std::vector<Measurement> measured() {
    run_rounds();
    if (rounds_ == 0) return {};
    std::vector<Measurement> results;
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      std::vector<double> ratios;
      for (const std::vector<double>& all : variants_[v].ratios) ratios.push_back(median(all));
      Settled settled;
      if (spec_.close_error > 0) settled = settle(v, ratios);
      results.push_back(result(v, ratios));
      results.back().rounds += settled.rounds;
      results.back().best_x_itself = settled.best_x_itself;
    }
    return results;
  }

 private:
  struct Variant {
    std::vector<double> ours, authors, authors_x_direct, float32, x_float32, x_blocked;
    std::vector<std::vector<double>> ratios;  // time of each baseline / ours, by rounds
    ConvRun done;                             // the last
  };

  double our_seconds(std::size_t v, const ConvTensors& tensors) {
    return timed(spec_.options.threads, [&] { variants_[v].done = plan_.run(tensors); });
  }

  void run_rounds() {
    const double start = clock_seconds(CLOCK_MONOTONIC);
    std::vector<double> dense(baselines_.size());
    for (int round = 0; round <= spec_.max_rounds && !stopped(spec_); ++round) {
      const ConvTensors any = inputs_.tensors(variants_.size() - 1);
      for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = baselines_[i].seconds(any);
      for (std::size_t v = 0; v < variants_.size(); ++v) {
        const ConvTensors tensors = inputs_.tensors(v);
        const double t = our_seconds(v, tensors);
        const double s = authors_ ? timed(spec_.options.threads, [&] { authors_->run(tensors); }) : 0;
        const double f = float32_ ? timed(spec_.options.threads, [&] { float32_->run(tensors); }) : 0;
        const double b = blocked_ ? blocked_->seconds(v) : 0;
        if (round == 0) continue;  // warm-up: pages and caches
        Variant& variant = variants_[v];
        if (blocked_) variant.x_blocked.push_back(b / t);
        if (float32_) {
          variant.float32.push_back(f);
          variant.x_float32.push_back(f / t);
        }
        variant.ours.push_back(t);
        for (std::size_t i = 0; i < dense.size(); ++i) variant.ratios[i].push_back(dense[i] / t);
        if (!authors_) continue;
        variant.authors.push_back(s);
        variant.authors_x_direct.push_back(dense[direct_] / s);
      }
      if (round == 0) continue;
      for (std::size_t i = 0; i < dense.size(); ++i) dense_times_[i].push_back(dense[i]);
      rounds_ = round;
      if (round >= spec_.min_rounds && clock_seconds(CLOCK_MONOTONIC) - start > spec_.seconds) break;
    }
  }

  struct Settled {
    int rounds = 0;
    double best_x_itself = 0;
  };
  // Times ours again with those that are close to the best and not clearly slower than ours, pairwise, until
  // the noise is small; and the best twice, to see how much of it is left.
  Settled settle(std::size_t v, std::vector<double>& ratios) {
    // A few rounds are off by up to 15 %, as a dense kernel compared with itself shows.
    constexpr double kClose = 0.15;
    const auto found = std::min_element(ratios.begin(), ratios.end());
    const double best = *found;
    if (best > 1 + kClose && variants_[v].done.skipped) return {};
    const auto best_at = static_cast<std::size_t>(found - ratios.begin());
    const ConvTensors tensors = inputs_.tensors(v);
    std::vector<std::size_t> close;
    std::vector<std::function<double()>> calls;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      if (ratios[i] > (1 + kClose) * best) continue;
      close.push_back(i);
      calls.emplace_back([this, i, &tensors] { return baselines_[i].seconds(tensors); });
    }
    calls.emplace_back([this, best_at, &tensors] { return baselines_[best_at].seconds(tensors); });
    RaceLimits limits;
    limits.precision = spec_.close_error;
    limits.seconds = spec_.close_seconds;
    const RaceResult raced = race([&] { return our_seconds(v, tensors); }, calls, limits, spec_.stop);
    if (raced.rounds == 0) return {};
    for (std::size_t i = 0; i < close.size(); ++i) ratios[close[i]] = raced.ratios[i];
    return {raced.rounds, raced.ratios.back() / ratios[best_at]};
  }

  Measurement result(std::size_t v, const std::vector<double>& ratios) {
    const Variant& variant = variants_[v];
    Measurement m;
    m.used = variant.done.used;
    m.skipped = variant.done.skipped;
    const bool in_weights = spec_.options.or_weights && m.skipped == Operand::kW;
    m.zeros = in_weights ? inputs_.weight_zeros : inputs_.zeros[v];
    m.rounds = rounds_;
    if (plan_.options().impl == Impl::kAuto) m.skips_from = 2;
    if (plan_.expected_speedup(0) != 1) {  // it has a choice
      ConvOptions options = plan_.options();
      options.or_weights = false;
      m.skips_from = calibrated_cost(plan_.shape(), options).crossover();
    }
    m.x_direct = ratios[direct_];
    m.x_auto = ratios[automatic_];
    m.x_blocked = median(variant.x_blocked);
    m.seconds = median(variant.ours);
    m.sparsetrain_seconds = median(variant.authors);
    m.sparsetrain_x_direct = median(variant.authors_x_direct);
    m.direct_seconds = median(dense_times_[direct_]);
    m.auto_seconds = median(dense_times_[automatic_]);
    m.kernel = plan_.kernel();
    m.direct_kernel = baselines_[direct_].name();
    m.auto_kernel = baselines_[automatic_].name();
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const std::size_t at = others_[i];
      BaselineResult other;
      other.impl = spec_.baselines[i];
      if (at != Baselines::kNone)
        other = {spec_.baselines[i], ratios[at], median(dense_times_[at]), baselines_[at].name()};
      m.baselines.push_back(other);
    }
    if (float32_)
      m.baselines.push_back(
          {Impl::kAuto, median(variant.x_float32), median(variant.float32), float32_->kernel()});
    return m;
  }

  const MeasureSpec& spec_;
  ConvPlan plan_;
  Inputs inputs_;
  std::vector<Variant> variants_;
  Baselines baselines_;
  std::size_t direct_ = 0, automatic_ = 0;
  std::vector<std::size_t> others_;  // by spec.baselines
  std::optional<OtherPlan> authors_, float32_;
  std::optional<OnBlocked> blocked_;
  std::vector<std::vector<double>> dense_times_;
  int rounds_ = 0;
};

}  // namespace

double Measurement::x_best() const {
  double best = std::min(x_direct, x_auto);
  for (const BaselineResult& baseline : baselines)
    if (baseline.ratio > 0) best = std::min(best, baseline.ratio);
  return best;
}

std::vector<Measurement> measure(const MeasureSpec& spec) {
  if (spec.options.checked == Operand::kW && !spec.nonzero && spec.zeros.size() > 1) {
    // A plan keeps one set of non-zero weights.
    std::vector<Measurement> all;
    for (const double share : spec.zeros) {
      MeasureSpec one = spec;
      one.zeros = {share};
      all.push_back(measure(one).front());
    }
    return all;
  }
  return Paired(spec).measured();
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
