#include "bench/torch/torch_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/core_wait.hpp"
#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/parallel.hpp"
#include "base/text/choice.hpp"
#include "base/text/text_table.hpp"
#include "bench/layers/layers_plan.hpp"
#include "bench/torch/torch_process.hpp"
#include "kernels/measure/measure.hpp"
#include "train/run/train_spec.hpp"

namespace lacuna::bench {
namespace {

using nlohmann::json;

// No training takes more steps: schedules and pruning stay as they are during a comparison.
constexpr std::int64_t kForever = 1'000'000'000'000'000;
// Steps whose losses are compared; they also warm up caches, memory and threads.
constexpr int kWarmupSteps = 3;

// PyTorch's two ways of waiting are tried for about this long each, in both formats.
constexpr double kTrialSeconds = 1;
constexpr std::int64_t kMostTrialSteps = 40;

// Steps of one side.
struct Block {
  std::vector<double> seconds, losses;  // per step
  double whole = 0, waited = 0;  // seconds of the block, and those in which its threads waited for others
  double images_per_second(std::int64_t batch) const {
    double sum = 0;
    for (const double one : seconds) sum += one;
    return static_cast<double>(batch * static_cast<std::int64_t>(seconds.size())) / sum;
  }
};
using Round = std::array<Block, kSides.size()>;

// The network as torch_side.py builds it.
json graph_json(const train::Graph& graph) {
  const auto size = [](const Size2& s) { return json{s.h, s.w}; };
  json nodes = json::array();
  for (const train::Node& node : graph.nodes)
    nodes.push_back({{"kind", node_kind_name(node.kind)},
                     {"name", node.name},
                     {"inputs", node.inputs},
                     {"out", {node.out.c, node.out.h, node.out.w}},
                     {"kernel", size(node.kernel)},
                     {"stride", size(node.stride)},
                     {"padding", size(node.padding)},
                     {"dilation", size(node.dilation)},
                     {"groups", node.groups},
                     {"bias", node.bias},
                     {"rate", node.rate}});
  return {{"nodes", std::move(nodes)}};
}

// A network of this engine that continues from a checkpoint.
struct Ours {
  train::Network network;
  train::Trainer trainer;

  Ours(const train::Graph& graph, const train::NetworkOptions& options, const dataset::DatasetPair& data,
       const train::TrainOptions& how)
      : network(graph, options), trainer(network, data, how) {}

  // Returns Winograd's share of all products so far.
  double winograd_share() const {
    std::int64_t all = 0, winograd = 0;
    for (const train::ConvLayer* layer : network.conv_layers())
      for (const Operation op : kOperations) {
        all += layer->use(op).calls;
        winograd += layer->use(op).winograd_calls;
      }
    return static_cast<double>(winograd) / static_cast<double>(std::max<std::int64_t>(all, 1));
  }
  // Returns nothing once told to stop.
  std::optional<Block> run(std::int64_t steps, const std::function<bool()>& stop) {
    Block block;
    for (std::int64_t i = 0; i < steps; ++i) {
      if (stop()) return std::nullopt;
      const train::StepReport report = trainer.run_step();
      block.seconds.push_back(report.seconds - report.load_seconds);
      block.losses.push_back(report.loss);
    }
    return block;
  }
};

// Variables of the environment of PyTorch's process.
std::vector<std::string> torch_variables(const TorchSpec& spec, bool passive) {
  std::vector<std::string> all;
  for (const std::string& one : spec.dropped_variables) all.push_back("-" + one);
  if (passive) all.emplace_back("+OMP_WAIT_POLICY=passive");
  return all;
}

// The four sides: PyTorch in two memory formats, and this engine with dense kernels and with `auto`. They
// train the same batches from the same weights, interleaved.
class Sides {
 public:
  // Starts PyTorch's process. Both arguments must outlive this object.
  Sides(const TorchSpec& spec, const Control& control)
      : spec_(spec), control_(control), torch_(start(pythons_to_try(spec_.python), spec_.wait == "passive")) {
    // One thread never waits.
    if (spec_.wait == "auto" && spec_.threads > 1) passive_torch_ = start({torch_->python()}, true);
  }

  const TorchProcess& torch() const { return *torch_; }
  // The weights that all sides start from.
  std::filesystem::path checkpoint() const { return folder_.file("checkpoint.safetensors"); }

  // Builds the networks of all sides from the checkpoint; the former ones are freed first. Returns false if
  // told to stop.
  bool build(const train::Graph& graph, const dataset::DatasetPair& data, const train::TrainOptions& how,
             const train::NetworkOptions& dense, const train::NetworkOptions& chosen, bool dropout) {
    train::Graph same = graph;
    for (train::Node& node : same.nodes)
      if (!dropout && node.kind == train::NodeKind::kDropout) node.rate = 0;
    dense_.reset();
    auto_.reset();
    dense_ = std::make_unique<Ours>(same, dense, data, how);
    auto_ = std::make_unique<Ours>(same, chosen, data, how);
    for (const auto* side : {&dense_, &auto_}) (*side)->trainer.start_from(checkpoint());
    release_input_file(checkpoint());  // the next warm-up saves there
    const dataset::ImageShape image = data.train->shape();
    image_ = {image.channels, image.height, image.width};
    const json request = {{"do", "build"},
                          {"graph", graph_json(same)},
                          {"dropout", dropout},
                          {"checkpoint", checkpoint().string()},
                          {"threads", spec_.threads},
                          {"lr", spec_.rate},
                          {"momentum", how.optimizer.momentum},
                          {"weight_decay", how.optimizer.weight_decay}};
    use_ = torch_.get();
    const auto built = use_->ask(request);
    if (!built) return false;
    build_ = request;
    if (built->value("parameters", std::int64_t{0}) != same.parameters())
      throw InputError(spec_.python, "PyTorch's network has another number of parameters", "report this");
    return true;
  }

  // Runs a block of the same steps on each side; returns nothing once told to stop. Every other round is
  // reversed, so that a machine that slows down affects all alike.
  std::optional<Round> run(std::int64_t steps, bool reversed) {
    write_batches(steps);
    Round round;
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      const std::size_t turn = reversed ? kSides.size() - 1 - i : i;
      std::optional<Block> block = run_block(kSides[turn], steps);
      if (!block) return std::nullopt;
      round[turn] = std::move(*block);
    }
    return round;
  }

  // Decides how PyTorch's threads wait in what follows; `step_seconds` is what a step takes. Returns nothing
  // once told to stop. The networks of the other process are freed.
  std::optional<bool> choose_wait(double step_seconds) {
    if (!passive_torch_) return spec_.wait == "passive";
    if (!passive_torch_->ask(build_)) return std::nullopt;
    const std::int64_t steps = trial_steps(step_seconds);
    write_batches(steps);
    std::array<double, 2> fastest{};  // images per second: default, passive
    // The first turn of the process that has just been built is its warm-up.
    for (const int turn : {1, 0, 1, 0, 1})
      for (const Side side : {Side::kTorchContiguous, Side::kTorchChannelsLast}) {
        use_ = turn == 1 ? passive_torch_.get() : torch_.get();
        const std::optional<Block> block = run_block(side, steps);
        if (!block) return std::nullopt;
        double& best = fastest[static_cast<std::size_t>(turn)];
        best = std::max(best, static_cast<double>(spec_.batch) / kernels::median(block->seconds));
      }
    const bool passive = fastest[1] > fastest[0];
    use_ = passive ? passive_torch_.get() : torch_.get();
    if (!(passive ? torch_ : passive_torch_)->ask({{"do", "forget"}})) return std::nullopt;
    return passive;
  }
  static std::int64_t trial_steps(double step_seconds) {
    return std::clamp<std::int64_t>(std::llround(kTrialSeconds / step_seconds), 3, kMostTrialSteps);
  }
  // Steps of PyTorch in choose_wait().
  std::int64_t all_trial_steps(double step_seconds) const {
    return passive_torch_ ? 5 * 2 * trial_steps(step_seconds) : 0;
  }

  Ours& automatic() { return *auto_; }

 private:
  std::unique_ptr<TorchProcess> start(const std::vector<std::string>& pythons, bool passive) const {
    return std::make_unique<TorchProcess>(pythons, folder_, spec_.threads, torch_variables(spec_, passive),
                                          control_.stop);
  }

  void write_batches(std::int64_t steps) const {
    std::ofstream file(folder_.file("batches"), std::ios::binary | std::ios::trunc);
    std::vector<float> images(static_cast<std::size_t>(spec_.batch * image_[0] * image_[1] * image_[2]));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(spec_.batch));
    const train::Trainer& trainer = dense_->trainer;
    for (std::int64_t i = 0; i < steps; ++i) {
      trainer.load(trainer.step() + i, images.data(), labels.data());
      file.write(reinterpret_cast<const char*>(images.data()),
                 static_cast<std::streamsize>(images.size() * sizeof(float)));
      file.write(reinterpret_cast<const char*>(labels.data()),
                 static_cast<std::streamsize>(labels.size() * sizeof(std::int32_t)));
    }
    file.close();
    if (!file)
      throw InputError(folder_.file("batches").string(), "images cannot be written there",
                       "set TMPDIR to a folder with more room");
  }

  // Runs the steps on one side while the threads of the others sleep.
  std::optional<Block> run_block(Side side, std::int64_t steps) {
    for (const auto* torch : {&torch_, &passive_torch_})
      if (*torch) wait_until_asleep((*torch)->id());
    wait_until_asleep(0);
    const bool ours = side == Side::kDense || side == Side::kAuto;
    const pid_t process = ours ? 0 : use_->id();
    const double start = seconds_now();
    const CoreTimes before = core_times(process);
    std::optional<Block> block =
        ours ? (side == Side::kDense ? dense_ : auto_)->run(steps, control_.stop) : run_torch(side, steps);
    if (!block) return block;
    block->whole = seconds_now() - start;
    block->waited = lost_to_others(before, core_times(process));
    return block;
  }

  std::optional<Block> run_torch(Side side, std::int64_t steps) {
    const auto answer =
        use_->ask({{"do", "train"},
                   {"format", side == Side::kTorchContiguous ? "contiguous" : "channels_last"},
                   {"batches", folder_.file("batches").string()},
                   {"batch", spec_.batch},
                   {"input", image_},
                   {"steps", steps}});
    if (!answer) return std::nullopt;
    Block block;
    try {
      answer->at("seconds").get_to(block.seconds);
      answer->at("losses").get_to(block.losses);
    } catch (const json::exception&) {
    }
    const auto count = static_cast<std::size_t>(steps);
    if (block.seconds.size() != count || block.losses.size() != count ||
        !std::ranges::all_of(block.seconds, [](double one) { return one > 0; }))
      throw InputError("--python", "the process of PyTorch answered without the times of its steps",
                       "name a Python, not another program");
    return block;
  }

  const TorchSpec& spec_;
  const Control& control_;
  ScratchFolder folder_;
  std::unique_ptr<TorchProcess> torch_, passive_torch_;  // the second if both ways of waiting are tried
  TorchProcess* use_ = nullptr;                          // one of them
  json build_;                                           // the request that built the networks
  std::array<int, 3> image_{};                           // channels, height, width
  std::unique_ptr<Ours> dense_, auto_;
};

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
    double step_seconds = 0;
    while (trainer.step() < spec_.steps_before) {
      if (control_.stop()) return false;
      if (trainer.step() == std::min<std::int64_t>(2, spec_.steps_before - 1))
        announce(planned, step_seconds);
      progress(0.1 + 0.1 * static_cast<double>(trainer.step()) / static_cast<double>(spec_.steps_before),
               "training");
      step_seconds = trainer.run_step().seconds;
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

  std::int64_t steps_per_block(double step_seconds) const {
    if (spec_.steps > 0) return std::max<std::int64_t>(1, spec_.steps / spec_.rounds);
    return std::max<std::int64_t>(1, std::llround(spec_.seconds / spec_.rounds / step_seconds));
  }
  static double slowest_step(const Round& warmup) {
    double slowest = 0;
    for (const Block& block : warmup) slowest = std::max(slowest, kernels::median(block.seconds));
    return slowest;
  }
  std::int64_t rounds() const {
    return std::min<std::int64_t>(spec_.rounds, spec_.steps > 0 ? spec_.steps : spec_.rounds);
  }
  static bool drops(const Planned& planned) {
    return std::ranges::any_of(planned.graph.nodes, [](const train::Node& node) {
      return node.kind == train::NodeKind::kDropout && node.rate > 0;
    });
  }

  // Says how long a long case takes, before it does: the other sides are seldom faster than this engine's
  // choice of kernels, whose step is known first.
  void announce(const Planned& planned, double step_seconds) const {
    constexpr double kLong = 60;
    if (!(step_seconds > 0)) return;
    const auto sides = std::ssize(kSides);
    const std::int64_t warmup = sides * kWarmupSteps * (drops(planned) ? 2 : 1);
    const std::int64_t timed =
        sides * rounds() * steps_per_block(step_seconds) + sides_.all_trial_steps(step_seconds);
    const double seconds = step_seconds * static_cast<double>(spec_.steps_before + warmup + timed);
    if (seconds < kLong) return;
    control_.note(fmt::format(
        "{}: at least {:.0f} s: a step takes {:.2g} s, and there are {} before the comparison, {} to "
        "warm up and {} timed; --after, --rounds, --seconds, --size or --batch make it shorter",
        printable(planned.name), seconds, step_seconds, spec_.steps_before, warmup, timed));
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
    // The two draw dropout in different ways, so their losses are comparable only without it.
    if (!build(planned, false)) return false;
    std::optional<Round> warmup = sides_.run(kWarmupSteps, false);
    if (!warmup) return false;
    result.first_difference = loss_difference(*warmup, 1);
    result.loss_difference = loss_difference(*warmup, kWarmupSteps);
    if (drops(planned)) {
      if (!build(planned, true)) return false;
      warmup = sides_.run(kWarmupSteps, false);
      if (!warmup) return false;
    }
    const std::optional<bool> passive = sides_.choose_wait(slowest_step(*warmup));
    if (!passive) return false;
    result.passive = *passive;
    result.block_steps = steps_per_block(slowest_step(*warmup));
    bool whole = true;
    double seconds = 0, waited = 0;  // of threads
    std::exception_ptr failure;
    for (std::int64_t r = 0; r < rounds() && whole; ++r) {
      progress(0.3 + 0.7 * static_cast<double>(r) / static_cast<double>(rounds()),
               fmt::format("round {} of {}", r + 1, rounds()));
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
      Ours& automatic = sides_.automatic();
      const train::ZeroReport zeros = automatic.trainer.zeros();
      result.activation_zeros = zeros.activations;
      result.gradient_zeros = zeros.gradients;
      result.weight_zeros = automatic.trainer.weight_zeros().value_or(0);
      result.winograd = automatic.winograd_share();
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
