#include "cli/commands/bench_versus_torch.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text/choice.hpp"
#include "cli/commands.hpp"
#include "cli/commands/bench_calibration.hpp"
#include "cli/commands/bench_precision.hpp"
#include "cli/commands/bench_versus_results.hpp"
#include "cli/commands/bench_versus_sides.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/measure/measure.hpp"
#include "train/run/fit_model.hpp"

namespace lacuna::cli {
namespace {

// Steps whose losses are compared; they also warm up caches, memory and threads.
constexpr int kWarmupSteps = 3;

class Versus {
 public:
  explicit Versus(const VersusOptions& options) : o_(options), sides_(o_) {
    data_ = dataset::open_dataset(o_.data, {.image_size = o_.image_size});
    const dataset::ImageShape image = data_.train->shape();
    report_.image = {image.channels, image.height, image.width};
    report_.torch = sides_.torch().torch_version();
    report_.python = sides_.torch().python_version();
    report_.blas = sides_.torch().blas();
    report_.data = data_.train->name();
    report_.batch = o_.batch;
    report_.threads = o_.threads;
    report_.rate = o_.rate;
    report_.precision = o_.precision;
    report_.exact = o_.exact;
    for (const std::string& name : o_.networks)
      for (const std::string& prune : o_.prune) plan_.push_back(plan(name, prune));
  }

  // False if a signal stopped it. What was measured is in report(), also after an InputError.
  bool run() {
    for (done_ = 0; done_ < plan_.size(); ++done_)
      if (!measure(plan_[done_])) return false;
    report_.complete = true;
    return true;
  }
  VersusReport& report() {
    bar_.clear();
    return report_;
  }

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
    planned.settings = train::fit_model(name, o_.settings, *data_.train);
    planned.graph = train::open_model(name, planned.settings);
    planned.how.steps = static_cast<std::int64_t>(kMostSteps);
    planned.how.schedule.kind = train::RateSchedule::Kind::kConstant;
    planned.how.schedule.rate = o_.rate;
    planned.how.pruning.method =
        parse_choice<train::PruningOptions::Method>("--prune", prune, train::kPruningMethods);
    planned.how.pruning.zeros = o_.prune_zeros;
    // The zero weights stay where they are. Sparse momentum computes the gradients of all weights before each
    // change and those of the non-zero weights otherwise; here always all, which is the slower.
    planned.how.pruning.every = static_cast<std::int64_t>(kMostSteps);
    planned.how.pruning.growth_steps = planned.how.pruning.every;
    return planned;
  }

  void progress(double share, const std::string& what) {
    const Planned& planned = plan_[done_];
    bar_.update((static_cast<double>(done_) + share) / static_cast<double>(plan_.size()),
                fmt::format("{} {}", printable(planned.name), what));
  }

  train::NetworkOptions engine(const Planned& planned, train::Kernels kernels) const {
    train::NetworkOptions options;
    options.batch = o_.batch;
    options.kernels = kernels;
    options.threads = o_.threads;
    options.pruned = planned.prune != "none";
    if (kernels == train::Kernels::kAuto) {
      options.precision = precision();
      options.allow_winograd = !o_.exact;
    }
    return options;
  }

  train::Precision precision() const {
    return o_.precision == "bfloat16" ? train::Precision::kBfloat16 : train::Precision::kFloat32;
  }

  // Trains for a while and leaves the weights in the checkpoint that all sides start from.
  bool train_first(const Planned& planned) {
    train::Network network(planned.graph, engine(planned, train::Kernels::kAuto),
                           [this](double share) { progress(0.1 * share, "measuring kernels"); });
    train::TrainOptions how = planned.how;
    how.schedule.warmup = o_.steps_before / 2;
    train::Trainer trainer(network, data_, how);
    if (!o_.initial.empty()) trainer.start_from(o_.initial);
    while (trainer.step() < o_.steps_before) {
      if (stop_signal() != 0) return false;
      progress(0.1 + 0.1 * static_cast<double>(trainer.step()) / static_cast<double>(o_.steps_before),
               "trains first");
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

  static double loss_difference(const VersusRound& round, std::size_t steps) {
    double largest = 0;
    const std::vector<double>& reference = round[static_cast<std::size_t>(VersusSide::kDense)].losses;
    for (const VersusBlock& block : round)
      for (std::size_t i = 0; i < std::min(steps, reference.size()); ++i) {
        const double difference = std::abs(block.losses[i] - reference[i]) / std::max(1.0, reference[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
      }
    return largest;
  }

  std::int64_t steps_per_block(const VersusRound& warmup) const {
    if (o_.steps > 0) return std::max<std::int64_t>(1, o_.steps / o_.rounds);
    double slowest = 0;
    for (const VersusBlock& block : warmup) slowest = std::max(slowest, kernels::median(block.seconds));
    return std::max<std::int64_t>(1, std::llround(o_.seconds / o_.rounds / slowest));
  }

  // False if a signal stopped it; whole rounds are kept.
  bool measure(const Planned& planned) {
    report_.complete = false;
    VersusCase result;
    result.network = planned.name;
    result.settings = train::describe_settings(planned.settings);
    result.prune = planned.prune;
    result.prune_zeros = planned.prune == "none" ? 0 : o_.prune_zeros;
    result.parameters = planned.graph.parameters();
    result.steps_before = o_.steps_before;
    result.compared_losses = kWarmupSteps;
    result.rounded = precision() == train::Precision::kBfloat16;
    progress(0, "builds");
    if (!train_first(planned)) return false;
    progress(0.2, "compares losses");
    const bool drops = std::ranges::any_of(planned.graph.nodes, [](const train::Node& node) {
      return node.kind == train::NodeKind::kDropout && node.rate > 0;
    });
    // The two draw what they drop in different ways, so their losses are comparable only without it.
    if (!build(planned, false)) return false;
    std::optional<VersusRound> warmup = sides_.run(kWarmupSteps, false);
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
        static_cast<int>(std::min<std::int64_t>(o_.rounds, o_.steps > 0 ? o_.steps : o_.rounds));
    bool whole = true;
    double seconds = 0, waited = 0;  // of threads
    std::exception_ptr failure;
    for (int r = 0; r < rounds && whole; ++r) {
      progress(0.3 + 0.7 * r / rounds, fmt::format("round {} of {}", r + 1, rounds));
      std::optional<VersusRound> round;
      try {
        round = sides_.run(result.block_steps, r % 2 == 1);
      } catch (const InputError&) {
        failure = std::current_exception();
      }
      whole = round.has_value();
      for (std::size_t i = 0; i < kVersusSides.size() && whole; ++i) {
        const VersusBlock& block = (*round)[i];
        result.speeds[i].push_back(block.images_per_second(o_.batch));
        seconds += block.whole * o_.threads;
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

  VersusOptions o_;
  dataset::DatasetPair data_;
  VersusSides sides_;
  std::vector<Planned> plan_;
  std::size_t done_ = 0;  // of plan_
  VersusReport report_;
  ProgressBar bar_;
};

void write_report(const VersusReport& report, const VersusOptions& options) {
  if (!options.json.empty()) write_result(options.json, versus_json(report));
  if (!options.csv.empty()) write_result(options.csv, versus_csv(report));
  if (options.json != kStandardOutput && options.csv != kStandardOutput)
    print_text(versus_table(report, output_style()) + calibration_note());
}

}  // namespace

void run_versus_torch(const VersusOptions& given) {
  VersusOptions options = given;
  if (options.networks.empty()) options.networks = {"vgg-small", "vgg16", "resnet18"};
  options.threads = resolve_threads(options.threads);
  if (!options.initial.empty() && options.networks.size() > 1)
    throw InputError("--init", "its parameters are those of one network", "name one with --versus-torch");
  check_precision(options.precision, {});
  std::vector<std::string> inputs = options.networks;
  inputs.push_back(options.initial);
  check_result_files(options.json, options.csv, inputs);
  const StopOnSignal signals;
  std::optional<Versus> versus(std::in_place, options);
  std::exception_ptr failure;
  try {
    versus->run();
  } catch (const InputError&) {
    failure = std::current_exception();
  }
  VersusReport report = std::move(versus->report());
  versus.reset();  // ends PyTorch
  if (!report.cases.empty()) {
    report.machine = this_machine();
    write_report(report, options);
  }
  if (failure) std::rethrow_exception(failure);
  if (stop_signal() != 0) {
    print_error(fmt::format("stopped; {} measured",
                            counted(static_cast<std::int64_t>(report.cases.size()), "network")));
    exit_with(128 + stop_signal());
  }
  if (!std::ranges::all_of(report.cases, [](const VersusCase& c) { return c.losses_agree(); })) {
    print_error("error: PyTorch's losses differ from lacuna's (loss_difference)");
    exit_with(1);
  }
}

}  // namespace lacuna::cli
