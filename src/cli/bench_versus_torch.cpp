#include "cli/bench_versus_torch.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/core_wait.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cli/bench_calibration.hpp"
#include "cli/bench_precision.hpp"
#include "cli/bench_torch_process.hpp"
#include "cli/bench_versus_results.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "cli/stop_signal.hpp"
#include "cli/terminal.hpp"
#include "cli/train_setup.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::cli {
namespace {

using nlohmann::json;

// Steps whose losses are compared; they also warm up caches, memory and threads.
constexpr int kWarmupSteps = 3;

// The network as the script builds it.
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

struct Block {
  std::vector<double> seconds, losses;  // per step
  double whole = 0, waited = 0;         // seconds of the block, and those in which threads waited for a core
  double images_per_second(std::int64_t batch) const {
    double sum = 0;
    for (const double one : seconds) sum += one;
    return static_cast<double>(batch * static_cast<std::int64_t>(seconds.size())) / sum;
  }
};

// A network of this engine that trains from a checkpoint on.
class OurSide {
 public:
  OurSide(const train::Graph& graph, const train::NetworkOptions& options, const dataset::DatasetPair& data,
          const train::TrainOptions& how)
      : network_(graph, options), trainer_(network_, data, how) {}

  train::Trainer& trainer() { return trainer_; }
  // Of all products so far.
  double winograd_share() {
    std::int64_t all = 0, winograd = 0;
    for (const train::ConvLayer* layer : network_.conv_layers())
      for (const Operation op : kOperations) {
        all += layer->use(op).calls;
        winograd += layer->use(op).winograd_calls;
      }
    return static_cast<double>(winograd) / static_cast<double>(std::max<std::int64_t>(all, 1));
  }
  // Nothing once a signal asks to stop.
  std::optional<Block> run(std::int64_t steps) {
    Block block;
    for (std::int64_t i = 0; i < steps; ++i) {
      if (stop_signal() != 0) return std::nullopt;
      const train::StepReport report = trainer_.run_step();
      block.seconds.push_back(report.seconds - report.load_seconds);
      block.losses.push_back(report.loss);
    }
    return block;
  }

 private:
  train::Network network_;
  train::Trainer trainer_;
};

class Versus {
 public:
  explicit Versus(const VersusOptions& options)
      : o_(options), torch_(pythons_to_try(o_.python), folder_, o_.threads) {
    data_ = dataset::open_dataset(o_.data, {.image_size = o_.image_size});
    const dataset::ImageShape image = data_.train->shape();
    report_.image = {image.channels, image.height, image.width};
    report_.torch = torch_.torch_version();
    report_.python = torch_.python_version();
    report_.blas = torch_.blas();
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
    TrainSetup setup;
    setup.model = name;
    setup.model_settings = o_.settings;
    Planned planned;
    planned.name = name;
    planned.prune = prune;
    planned.settings = fit_model(setup, *data_.train);
    planned.graph = train::open_model(name, planned.settings);
    planned.how.steps = static_cast<std::int64_t>(kMostSteps);
    planned.how.schedule.kind = train::RateSchedule::Kind::kConstant;
    planned.how.schedule.rate = o_.rate;
    planned.how.pruning.method = train::parse_pruning(prune);
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
    if (!trainer.save(checkpoint(), {}))
      throw InputError("--lr", "the training diverges in the steps before the comparison", "lower it");
    return true;
  }

  std::filesystem::path checkpoint() const { return folder_.file("checkpoint.safetensors"); }

  // Networks of both engines, started from the checkpoint. Nothing if stopped.
  bool make_sides(const Planned& planned, bool dropout) {
    train::Graph graph = planned.graph;
    for (train::Node& node : graph.nodes)
      if (!dropout && node.kind == train::NodeKind::kDropout) node.rate = 0;
    dense_.reset();
    auto_.reset();
    for (auto* side : {&dense_, &auto_}) {
      side->emplace(graph, engine(planned, side == &dense_ ? train::Kernels::kDense : train::Kernels::kAuto),
                    data_, planned.how);
      (*side)->trainer().start_from(checkpoint());
    }
    const auto built = torch_.ask({{"do", "build"},
                                   {"graph", graph_json(graph)},
                                   {"dropout", dropout},
                                   {"checkpoint", checkpoint().string()},
                                   {"threads", o_.threads},
                                   {"lr", o_.rate},
                                   {"momentum", planned.how.sgd.momentum},
                                   {"weight_decay", planned.how.sgd.weight_decay}});
    if (!built) return false;
    if (built->value("parameters", std::int64_t{0}) != graph.parameters())
      throw InputError(o_.python, "PyTorch's network has another number of parameters", "report this");
    return true;
  }

  void write_batches(std::int64_t steps) {
    std::ofstream file(folder_.file("batches"), std::ios::binary | std::ios::trunc);
    std::vector<float> images(
        static_cast<std::size_t>(o_.batch * report_.image[0] * report_.image[1] * report_.image[2]));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(o_.batch));
    const train::Trainer& trainer = dense_->trainer();
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

  // The same steps on one side, while the threads of the other sleep.
  std::optional<Block> run_block(VersusSide side, std::int64_t steps) {
    wait_until_asleep(torch_.id());
    wait_until_asleep(0);
    const bool ours = side == VersusSide::kDense || side == VersusSide::kAuto;
    const pid_t process = ours ? 0 : torch_.id();
    const double start = seconds_now(), waited = seconds_waited_for_cores(process);
    std::optional<Block> block =
        ours ? (side == VersusSide::kDense ? dense_ : auto_)->run(steps) : run_torch(side, steps);
    if (!block) return block;
    block->whole = seconds_now() - start;
    block->waited = std::max(0.0, seconds_waited_for_cores(process) - waited);
    return block;
  }

  std::optional<Block> run_torch(VersusSide side, std::int64_t steps) {
    const auto answer =
        torch_.ask({{"do", "train"},
                    {"format", side == VersusSide::kTorchContiguous ? "contiguous" : "channels_last"},
                    {"batches", folder_.file("batches").string()},
                    {"batch", o_.batch},
                    {"input", report_.image},
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

  using Round = std::array<Block, kVersusSides.size()>;
  // Every other round in reverse: a machine that gets slower hits all alike.
  std::optional<Round> run_round(std::int64_t steps, bool reversed) {
    write_batches(steps);
    Round round;
    for (std::size_t i = 0; i < kVersusSides.size(); ++i) {
      const std::size_t turn = reversed ? kVersusSides.size() - 1 - i : i;
      std::optional<Block> block = run_block(kVersusSides[turn], steps);
      if (!block) return std::nullopt;
      round[turn] = std::move(*block);
    }
    return round;
  }

  static double loss_difference(const Round& round, std::size_t steps) {
    double largest = 0;
    const std::vector<double>& reference = round[static_cast<std::size_t>(VersusSide::kDense)].losses;
    for (const Block& block : round)
      for (std::size_t i = 0; i < std::min(steps, reference.size()); ++i) {
        const double difference = std::abs(block.losses[i] - reference[i]) / std::max(1.0, reference[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
      }
    return largest;
  }

  std::int64_t steps_per_block(const Round& warmup) const {
    if (o_.steps > 0) return std::max<std::int64_t>(1, o_.steps / o_.rounds);
    double slowest = 0;
    for (const Block& block : warmup) slowest = std::max(slowest, kernels::median(block.seconds));
    return std::max<std::int64_t>(1, std::llround(o_.seconds / o_.rounds / slowest));
  }

  // False if a signal stopped it; whole rounds are kept.
  bool measure(const Planned& planned) {
    report_.complete = false;
    VersusCase result;
    result.network = planned.name;
    result.settings = describe_settings(planned.settings);
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
    if (!make_sides(planned, false)) return false;
    std::optional<Round> warmup = run_round(kWarmupSteps, false);
    if (!warmup) return false;
    result.first_difference = loss_difference(*warmup, 1);
    result.loss_difference = loss_difference(*warmup, kWarmupSteps);
    if (drops) {
      if (!make_sides(planned, true)) return false;
      warmup = run_round(kWarmupSteps, false);
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
      std::optional<Round> round;
      try {
        round = run_round(result.block_steps, r % 2 == 1);
      } catch (const InputError&) {
        failure = std::current_exception();
      }
      whole = round.has_value();
      for (std::size_t i = 0; i < kVersusSides.size() && whole; ++i) {
        const Block& block = (*round)[i];
        result.speeds[i].push_back(block.images_per_second(o_.batch));
        seconds += block.whole * o_.threads;
        waited += block.waited;
      }
    }
    if (result.rounds() > 0) {
      const train::ZeroReport zeros = auto_->trainer().zeros();
      result.activation_zeros = zeros.activations;
      result.gradient_zeros = zeros.gradients;
      result.weight_zeros = auto_->trainer().weight_zeros().value_or(0);
      result.winograd = auto_->winograd_share();
      result.waited = waited / seconds;
      report_.cases.push_back(std::move(result));
    }
    if (failure) std::rethrow_exception(failure);
    return whole;
  }

  VersusOptions o_;
  ScratchFolder folder_;
  TorchProcess torch_;
  dataset::DatasetPair data_;
  std::vector<Planned> plan_;
  std::size_t done_ = 0;  // of plan_
  std::optional<OurSide> dense_, auto_;
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
