#include "kernels/measure/measure.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "kernels/choice/calibrate.hpp"
#include "kernels/choice/sampled_zeros.hpp"
#include "kernels/layout/blocked.hpp"
#include "kernels/measure/timed.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {
namespace {

bool stopped(const MeasureSpec& spec) { return spec.stop && spec.stop(); }

// The checked operand once for each share of zeros; all else is shared.
struct Inputs {
  Inputs(const MeasureSpec& spec, ConvPlan& plan) : data(plan), threads(spec.options.threads) {
    const Operand operand = spec.options.checked_operand();
    const bool traced = spec.nonzero || spec.nonzero_weight;
    if (traced)
      data.fill(plan, {spec.nonzero, spec.nonzero_weight}, spec.seed);
    else
      data.fill_quickly(plan, operand == Operand::kW ? spec.zeros.front() : 0.0, spec.seed);
    weight_zeros = count_zeros(data.plain_weights.data(), data.plain_weights.size(), 1);
    if (operand == Operand::kW) {
      zeros.push_back(weight_zeros);
      return;
    }
    const bool activations = operand == Operand::kA;
    const BlockedShape shape = activations ? blocked_src(spec.shape) : blocked_dst(spec.shape);
    filled = &data.checked(spec.options);
    for (std::size_t v = 0; v < (traced ? 1 : spec.zeros.size()); ++v) {
      checked.emplace_back(filled->size());
      if (!traced) data.fill_quickly(plan, spec.zeros[v], spec.seed + 1 + v, true);
      copy(*filled, checked[v], threads);
      const double stored = count_zeros(checked[v].data(), checked[v].size(), 1);
      zeros.push_back(1 - (1 - stored) * static_cast<double>(filled->size()) /
                              static_cast<double>(shape.plain_floats()));
    }
  }
  // All variants take turns in the same memory: the same kernel in other memory was measured up to half as
  // fast, by how the tensors lie.
  ConvTensors tensors(std::size_t variant) {
    if (filled != nullptr && variant != current) {  // otherwise the zeros are in the weights
      copy(checked[variant], *filled, threads);
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
  AlignedFloats* filled = nullptr;
  std::vector<AlignedFloats> checked;
  std::vector<double> zeros;
  double weight_zeros = 0;
  std::size_t current = static_cast<std::size_t>(-1);
};

// The same implementation on separate, blocked tensors with the same zeros.
struct OnBlocked {
  explicit OnBlocked(const MeasureSpec& spec)
      : plan(spec.shape, blocked(spec.options)), inputs(with(spec, plan.options()), plan) {}
  static ConvOptions blocked(ConvOptions options) {
    options.layout = Layout::kBlocked;
    return options;
  }
  static MeasureSpec with(MeasureSpec spec, const ConvOptions& options) {
    spec.options = options;
    return spec;
  }
  ConvPlan plan;
  Inputs inputs;
};

struct Rival {
  std::string kernel;
  bool dense;  // its time does not depend on the zeros: timed once a round
  std::function<double(std::size_t variant, const ConvTensors&)> seconds;
};

// The plan and its rivals, timed interleaved in one process.
class Contest {
 public:
  explicit Contest(const MeasureSpec& spec)
      : spec_(spec), plan_(spec.shape, spec.options), inputs_(spec, plan_) {
    add_dense("direct", Impl::kDenseDirect);
    if (names_.front().second == kNone) Baseline(plan_, Impl::kDenseDirect);  // throws the reason
    for (const std::string& name : spec.rivals) {
      if (name == "sparsetrain")
        add_plan(name, Impl::kSparseTrain);
      else if (name == "float32")
        add_plan(name, Impl::kAuto);
      else if (name == "blocked")
        add_blocked(name);
      else
        add_dense(name, *impl_named(name));
    }
    variants_.assign(inputs_.zeros.size(), {{}, std::vector<std::vector<double>>(rivals_.size()), {}});
  }

  std::vector<Measurement> measured() {
    run_rounds();
    std::vector<Measurement> results;
    for (std::size_t v = 0; v < variants_.size() && rounds_ > 0; ++v) results.push_back(result(v));
    return results;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Variant {
    std::vector<double> ours;                // by rounds
    std::vector<std::vector<double>> times;  // of each rival, by rounds
    ConvRun done;                            // the last
  };

  void add(const std::string& name, Rival rival) {
    names_.emplace_back(name, rivals_.size());
    rivals_.push_back(std::move(rival));
  }
  // Rivals that are the same kernel are timed once.
  void add_dense(const std::string& name, Impl impl) {
    std::shared_ptr<Baseline> made;
    try {
      made = std::make_shared<Baseline>(plan_, impl);
    } catch (const ConvError&) {  // not for this shape
      names_.emplace_back(name, kNone);
      return;
    }
    for (std::size_t i = 0; i < rivals_.size(); ++i)
      if (rivals_[i].kernel == made->name()) return static_cast<void>(names_.emplace_back(name, i));
    add(name, {made->name(), true, [made](std::size_t, const ConvTensors& t) { return made->seconds(t); }});
  }
  void add_plan(const std::string& name, Impl impl) {
    ConvOptions options = spec_.options;
    options.allow_bfloat16 = false;
    const auto made = std::make_shared<TimedPlan>(spec_.shape, options, impl);
    made->take_weights(inputs_.data);
    add(name, {made->plan().kernel(), false,
               [this, made](std::size_t, const ConvTensors&) { return made->seconds(inputs_.data); }});
  }
  void add_blocked(const std::string& name) {
    const auto made = std::make_shared<OnBlocked>(spec_);
    add(name, {made->plan.kernel(), false, [made](std::size_t variant, const ConvTensors&) {
                 const ConvTensors tensors = made->inputs.tensors(variant);
                 return timed(made->inputs.threads, [&] { made->plan.run(tensors); });
               }});
  }

  static double median_ratio(const std::vector<double>& times, const std::vector<double>& over) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < times.size(); ++round) ratios.push_back(times[round] / over[round]);
    return median(std::move(ratios));
  }

  double our_seconds(std::size_t v, const ConvTensors& tensors) {
    return timed(spec_.options.threads, [&] { variants_[v].done = plan_.run(tensors); });
  }

  void run_rounds() {
    const double start = clock_seconds(CLOCK_MONOTONIC);
    std::vector<double> times(rivals_.size());
    const auto time = [&](bool dense, std::size_t variant, const ConvTensors& tensors) {
      for (std::size_t i = 0; i < times.size(); ++i)
        if (rivals_[i].dense == dense) times[i] = rivals_[i].seconds(variant, tensors);
    };
    for (int round = 0; round <= spec_.max_rounds && !stopped(spec_); ++round) {
      time(true, 0, inputs_.tensors(variants_.size() - 1));
      for (std::size_t v = 0; v < variants_.size(); ++v) {
        const ConvTensors tensors = inputs_.tensors(v);
        const double ours = our_seconds(v, tensors);
        time(false, v, tensors);
        if (round == 0) continue;  // warm-up: pages and caches
        variants_[v].ours.push_back(ours);
        for (std::size_t i = 0; i < times.size(); ++i) variants_[v].times[i].push_back(times[i]);
      }
      rounds_ = round;
      if (round >= spec_.min_rounds && clock_seconds(CLOCK_MONOTONIC) - start > spec_.seconds) break;
    }
  }

  // Times ours again with those that are close to the best and not clearly slower than ours, pairwise, until
  // the noise is small; and the best twice, to see how much of it is left.
  void settle(std::size_t v, std::vector<double>& ratios, Measurement& m) {
    // A few rounds are off by up to 15 %, as a dense kernel compared with itself shows.
    constexpr double kClose = 0.15;
    std::size_t best_at = 0;
    for (std::size_t i = 0; i < ratios.size(); ++i)
      if (rivals_[i].dense && ratios[i] < ratios[best_at]) best_at = i;
    const double best = ratios[best_at];
    if (best > 1 + kClose && variants_[v].done.skipped) return;
    std::vector<std::size_t> close;
    for (std::size_t i = 0; i < ratios.size(); ++i)
      if (rivals_[i].dense && ratios[i] <= (1 + kClose) * best) close.push_back(i);
    close.push_back(best_at);
    const ConvTensors tensors = inputs_.tensors(v);
    std::vector<std::function<double()>> calls;
    for (const std::size_t i : close) calls.emplace_back([&, i] { return rivals_[i].seconds(v, tensors); });
    RaceLimits limits;
    limits.precision = spec_.close_error;
    limits.seconds = spec_.close_seconds;
    const RaceResult raced = race([&] { return our_seconds(v, tensors); }, calls, limits, spec_.stop);
    if (raced.rounds == 0) return;
    for (std::size_t i = 0; i + 1 < close.size(); ++i) ratios[close[i]] = raced.ratios[i];
    m.rounds += raced.rounds;
    m.best_x_itself = raced.ratios.back() / ratios[best_at];
  }

  Measurement result(std::size_t v) {
    const Variant& variant = variants_[v];
    std::vector<double> ratios;
    for (const std::vector<double>& times : variant.times)
      ratios.push_back(median_ratio(times, variant.ours));
    Measurement m;
    m.rounds = rounds_;
    if (spec_.close_error > 0) settle(v, ratios, m);
    m.used = variant.done.used;
    m.skipped = variant.done.skipped;
    const bool in_weights = spec_.options.or_weights && m.skipped == Operand::kW;
    m.zeros = in_weights ? inputs_.weight_zeros : inputs_.zeros[v];
    if (plan_.options().impl == Impl::kAuto) m.skips_from = 2;
    if (plan_.expected_speedup(0) != 1) {  // it has a choice
      ConvOptions options = plan_.options();
      options.or_weights = false;
      m.skips_from = calibrated_cost(plan_.shape(), options).crossover();
    }
    m.seconds = median(variant.ours);
    m.kernel = plan_.kernel();
    for (const auto& [name, i] : names_) {
      RivalResult& one = m.rivals.emplace_back();
      one.name = name;
      if (i == kNone) continue;
      one.ratio = ratios[i];
      one.seconds = median(variant.times[i]);
      one.x_direct = median_ratio(variant.times.front(), variant.times[i]);
      one.kernel = rivals_[i].kernel;
    }
    return m;
  }

  const MeasureSpec& spec_;
  ConvPlan plan_;
  Inputs inputs_;
  std::vector<Rival> rivals_;                               // direct is the first
  std::vector<std::pair<std::string, std::size_t>> names_;  // of the rivals, and which it is
  std::vector<Variant> variants_;
  int rounds_ = 0;
};

bool is_baseline(const RivalResult& rival) { return rival.name != "sparsetrain" && rival.name != "blocked"; }

}  // namespace

const RivalResult& Measurement::rival(std::string_view name) const {
  static const RivalResult none;
  const auto found = std::ranges::find(rivals, name, &RivalResult::name);
  return found == rivals.end() ? none : *found;
}

const RivalResult& Measurement::automatic() const {
  const RivalResult& one = rival(impl_name(Impl::kDenseAuto));
  return one.ratio > 0 ? one : direct();
}

std::vector<RivalResult> Measurement::baselines() const {
  std::vector<RivalResult> all;
  for (const RivalResult& one : rivals)
    if (is_baseline(one) && one.name != "direct" && one.name != impl_name(Impl::kDenseAuto))
      all.push_back(one);
  return all;
}

double Measurement::x_best() const {
  double best = direct().ratio;
  for (const RivalResult& one : rivals)
    if (is_baseline(one) && one.ratio > 0) best = std::min(best, one.ratio);
  return best;
}

std::vector<Measurement> measure(const MeasureSpec& spec) {
  if (spec.options.checked == Operand::kW && !spec.nonzero_weight && spec.zeros.size() > 1) {
    // A plan keeps one set of non-zero weights.
    std::vector<Measurement> all;
    for (const double share : spec.zeros) {
      MeasureSpec one = spec;
      one.zeros = {share};
      all.push_back(measure(one).front());
    }
    return all;
  }
  return Contest(spec).measured();
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
  const auto wall = [&](ConvPlan& plan) { return timed(2, [&] { plan.run(tensors); }); };
  std::vector<double> ours, registers;
  const double start = clock_seconds(CLOCK_MONOTONIC);
  for (int round = 0; round <= spec.max_rounds && !stopped(spec); ++round) {
    const double p1 = peak_seconds(1);
    const double t1 = wall(plan_one);
    const double pn = peak_seconds(threads);
    const double tn = wall(plan_many);
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
