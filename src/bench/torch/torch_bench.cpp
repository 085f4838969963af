#include "bench/torch/torch_bench.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text/choice.hpp"
#include "base/text/text_table.hpp"
#include "bench/layers/layers_plan.hpp"
#include "bench/torch/sides.hpp"
#include "kernels/measure/measure.hpp"
#include "train/run/train_spec.hpp"

namespace lacuna::bench {
namespace {

// No training takes more steps: schedules and pruning stay as they are during a comparison.
constexpr std::int64_t kForever = 1'000'000'000'000'000;
// Steps whose losses are compared; they also warm up caches, memory and threads.
constexpr int kWarmupSteps = 3;

class Comparison {
 public:
  Comparison(const TorchSpec& spec, const Control& control)
      : spec_(spec), control_(control), sides_(spec_, control_) {
    data_ = dataset::open_dataset(spec_.data, {.image_size = spec_.image_size});
    const dataset::ImageShape image = data_.train->shape();
    report_.image = {image.channels, image.height, image.width};
    report_.torch = sides_.torch().torch_version();
    report_.python = sides_.torch().python_version();
    report_.blas = sides_.torch().blas();
    report_.data = data_.train->name();
    report_.spec = spec_;
    for (const std::string& name : spec_.networks)
      for (const std::string& prune : spec_.prune) plan_.push_back(plan(name, prune));
  }

  // Measurements are in report(), also when told to stop and after an InputError.
  void run() {
    for (done_ = 0; done_ < plan_.size(); ++done_)
      if (!measure(plan_[done_])) return;
    report_.complete = true;
  }
  const TorchReport& report() const { return report_; }

 private:
  struct Planned {
    std::string name, prune;
    train::ModelSettings settings;
    train::Graph graph;
    train::TrainOptions how;
  };

  Planned plan(const std::string& name, const std::string& prune) const {
    Planned planned;
    planned.name = name;
    planned.prune = prune;
    planned.settings = train::fit_model(name, spec_.settings, *data_.train);
    planned.graph = train::open_model(name, planned.settings);
    planned.how.steps = kForever;
    planned.how.schedule.kind = train::RateSchedule::Kind::kConstant;
    planned.how.schedule.rate = spec_.rate;
    planned.how.pruning.method =
        parse_choice<train::PruningOptions::Method>("--prune", prune, train::kPruningMethods);
    planned.how.pruning.zeros = spec_.prune_zeros;
    // The zero weights stay where they are. Sparse momentum computes the gradients of all weights before each
    // change and those of the non-zero weights otherwise; here always all, which is the slower.
    planned.how.pruning.every = kForever;
    planned.how.pruning.growth_steps = planned.how.pruning.every;
    return planned;
  }

  void progress(double share, const std::string& what) {
    const Planned& planned = plan_[done_];
    control_.progress((static_cast<double>(done_) + share) / static_cast<double>(plan_.size()),
                      fmt::format("{} {}", printable(planned.name), what));
  }

  train::NetworkOptions engine(const Planned& planned, train::Kernels kernels) const {
    train::NetworkOptions options;
    options.batch = spec_.batch;
    options.kernels = kernels;
    options.threads = spec_.threads;
    options.pruned = planned.prune != "none";
    if (kernels == train::Kernels::kAuto) {
      options.precision = precision();
      options.allow_winograd = !spec_.exact;
    }
    return options;
  }

  train::Precision precision() const {
    return spec_.precision == "bfloat16" ? train::Precision::kBfloat16 : train::Precision::kFloat32;
  }

  // Trains for a while and leaves the weights in the checkpoint that all sides start from.
  bool train_first(const Planned& planned) {
    train::Network network(planned.graph, engine(planned, train::Kernels::kAuto),
                           [this](double share) { progress(0.1 * share, "measuring kernels"); });
    train::TrainOptions how = planned.how;
    how.schedule.warmup = spec_.steps_before / 2;
    train::Trainer trainer(network, data_, how);
    if (!spec_.initial.empty()) trainer.start_from(spec_.initial);
    while (trainer.step() < spec_.steps_before) {
      if (control_.stop()) return false;
      progress(0.1 + 0.1 * static_cast<double>(trainer.step()) / static_cast<double>(spec_.steps_before),
               "training");
      trainer.run_step();
    }
    if (!trainer.save(sides_.checkpoint(), {}))
      throw InputError("--lr", "the training diverges in the steps before the comparison", "lower it");
    return true;
  }

  bool build(const Planned& planned, bool dropout) {
    return sides_.build(planned.graph, data_, planned.how, engine(planned, train::Kernels::kDense),
                        engine(planned, train::Kernels::kAuto), dropout);
  }

  static double loss_difference(const Round& round, std::size_t steps) {
    double largest = 0;
    const std::vector<double>& reference = round[static_cast<std::size_t>(Side::kDense)].losses;
    for (const Block& block : round)
      for (std::size_t i = 0; i < std::min(steps, reference.size()); ++i) {
        const double difference = std::abs(block.losses[i] - reference[i]) / std::max(1.0, reference[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
      }
    return largest;
  }

  std::int64_t steps_per_block(const Round& warmup) const {
    if (spec_.steps > 0) return std::max<std::int64_t>(1, spec_.steps / spec_.rounds);
    double slowest = 0;
    for (const Block& block : warmup) slowest = std::max(slowest, kernels::median(block.seconds));
    return std::max<std::int64_t>(1, std::llround(spec_.seconds / spec_.rounds / slowest));
  }

  // Returns false if told to stop; whole rounds are kept.
  bool measure(const Planned& planned) {
    report_.complete = false;
    TorchCase result;
    result.network = planned.name;
    result.settings = train::describe_settings(planned.settings);
    result.prune = planned.prune;
    result.prune_zeros = planned.prune == "none" ? 0 : spec_.prune_zeros;
    result.parameters = planned.graph.parameters();
    result.steps_before = spec_.steps_before;
    result.compared_losses = kWarmupSteps;
    result.rounded = precision() == train::Precision::kBfloat16;
    progress(0, "building");
    if (!train_first(planned)) return false;
    progress(0.2, "comparing losses");
    const bool drops = std::ranges::any_of(planned.graph.nodes, [](const train::Node& node) {
      return node.kind == train::NodeKind::kDropout && node.rate > 0;
    });
    // The two draw dropout in different ways, so their losses are comparable only without it.
    if (!build(planned, false)) return false;
    std::optional<Round> warmup = sides_.run(kWarmupSteps, false);
    if (!warmup) return false;
    result.first_difference = loss_difference(*warmup, 1);
    result.loss_difference = loss_difference(*warmup, kWarmupSteps);
    if (drops) {
      if (!build(planned, true)) return false;
      warmup = sides_.run(kWarmupSteps, false);
      if (!warmup) return false;
    }
    result.block_steps = steps_per_block(*warmup);
    const auto rounds =
        static_cast<int>(std::min<std::int64_t>(spec_.rounds, spec_.steps > 0 ? spec_.steps : spec_.rounds));
    bool whole = true;
    double seconds = 0, waited = 0;  // of threads
    std::exception_ptr failure;
    for (int r = 0; r < rounds && whole; ++r) {
      progress(0.3 + 0.7 * r / rounds, fmt::format("round {} of {}", r + 1, rounds));
      std::optional<Round> round;
      try {
        round = sides_.run(result.block_steps, r % 2 == 1);
      } catch (const InputError&) {
        failure = std::current_exception();
      }
      whole = round.has_value();
      for (std::size_t i = 0; i < kSides.size() && whole; ++i) {
        const Block& block = (*round)[i];
        result.speeds[i].push_back(block.images_per_second(spec_.batch));
        seconds += block.whole * spec_.threads;
        waited += block.waited;
      }
    }
    if (result.rounds() > 0) {
      const train::ZeroReport zeros = sides_.auto_trainer().zeros();
      result.activation_zeros = zeros.activations;
      result.gradient_zeros = zeros.gradients;
      result.weight_zeros = sides_.auto_trainer().weight_zeros().value_or(0);
      result.winograd = sides_.winograd_share();
      result.waited = waited / seconds;
      report_.cases.push_back(std::move(result));
    }
    if (failure) std::rethrow_exception(failure);
    return whole;
  }

  const TorchSpec& spec_;
  const Control& control_;
  dataset::DatasetPair data_;
  Sides sides_;
  std::vector<Planned> plan_;
  std::size_t done_ = 0;  // of plan_
  TorchReport report_;
};

}  // namespace

TorchOutcome compare_with_torch(TorchSpec spec, const Control& control) {
  if (spec.networks.empty()) spec.networks = {"vgg-small", "vgg16", "resnet18"};
  spec.threads = resolve_threads(spec.threads);
  if (!spec.initial.empty() && spec.networks.size() > 1)
    throw InputError("--init", "its parameters are those of one network", "name one network");
  check_precision(spec.precision);
  TorchOutcome outcome;
  {
    Comparison comparison(spec, control);  // ends PyTorch when it is destroyed
    try {
      comparison.run();
    } catch (const InputError&) {
      outcome.failure = std::current_exception();
    }
    outcome.report = comparison.report();
  }
  if (!outcome.report.cases.empty()) outcome.report.machine = this_machine();
  return outcome;
}

}  // namespace lacuna::bench
