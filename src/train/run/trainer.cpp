#include "train/run/trainer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/random.hpp"
#include "train/run/train_spec.hpp"

namespace lacuna::train {
namespace {

// Batch norm hides weights of any size, so a training that has diverged may run for ever with finite numbers.
// A loss of fifty times that of guessing may be a spike; a hundred such steps in a row are not.
constexpr double kFarLoss = 50;
constexpr std::int64_t kFarSteps = 100;

dataset::LoaderOptions loader_options(const Network& network, const TrainOptions& options) {
  return {.batch = static_cast<int>(network.options().batch),
          .seed = options.seed,
          .shuffle = true,
          .flip = options.flip,
          .crop_padding = options.crop_padding,
          .threads = network.options().threads};
}

void check_fits(const Network& network, const dataset::Dataset& data) {
  const dataset::ImageShape image = data.shape();
  const Graph& graph = network.graph();
  if (SampleShape{image.channels, image.height, image.width} != graph.input)
    throw InputError(
        "training",
        fmt::format("images of '{}' are {}x{}x{}, the network takes {}x{}x{}", data.name(), image.channels,
                    image.height, image.width, graph.input.c, graph.input.h, graph.input.w),
        "set the model's channels and size");
  if (static_cast<std::int64_t>(data.classes().size()) != graph.classes())
    throw InputError("training",
                     fmt::format("'{}' has {} classes, the network {}", data.name(), data.classes().size(),
                                 graph.classes()),
                     "set the model's classes");
}

InputError lost_loss(const std::string& when, double loss) {
  return {"training", fmt::format("the loss {} is {}", when, loss),
          "lower --lr, add --warmup, or look for broken images; the last checkpoint is untouched"};
}

// Changes with everything that decides what a network computes: shapes alone would accept a checkpoint in a
// network with other strides or another order of layers.
std::uint64_t fingerprint(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    text += fmt::format("{} {} {} {} {}x{}x{} {}x{} {}x{} {}x{} {}x{} {} {} {}\n", node_kind_name(node.kind),
                        node.name, fmt::join(node.inputs, ","), node.bias, node.out.c, node.out.h, node.out.w,
                        node.kernel.h, node.kernel.w, node.stride.h, node.stride.w, node.padding.h,
                        node.padding.w, node.dilation.h, node.dilation.w, node.groups, node.rate,
                        node.out_channels);
  return hash_text(text);
}

}  // namespace

Trainer::Trainer(Network& network, const dataset::DatasetPair& data, const TrainOptions& options)
    : network_(network),
      data_(data),
      options_(options),
      loader_(*data.train, loader_options(network, options)),
      optimizer_(kOptimizers[options.optimizer.kind].make(network.parameters(), options.optimizer,
                                                          network.options().threads)),
      state_{network.parameters(), *optimizer_},
      images_(static_cast<std::size_t>(network.options().batch * network.graph().input.size())),
      labels_(static_cast<std::size_t>(network.options().batch)) {
  check_fits(network, *data.train);
  check_fits(network, *data.test);
  options_.schedule.steps = options.steps;
  far_loss_ = kFarLoss * std::log(static_cast<double>(network.graph().classes()));
  network_.initialize(options.seed);
  weights_changed();
  if (options.pruning.method == PruningOptions::Method::kNone) return;
  pruning_.emplace(*optimizer_, options.pruning);
  pruning_->start();
  state_.pruning = &*pruning_;
}

// Versions are unique across trainers, so that one trainer may follow another on a network.
void Trainer::weights_changed() {
  static std::atomic<std::uint64_t> last{0};
  weights_version_ = ++last;
}

Pass Trainer::pass(std::int64_t step, bool training) const {
  return {training, Random(options_.seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(step)).bits(),
          network_.options().sparsify.reuse_density(step), weights_version_,
          !pruning_ || pruning_->needs_all_gradients(step)};
}

StepReport Trainer::run_step(const RecordOptions* record, std::optional<Trace>* trace) {
  StepReport report;
  report.step = state_.step;
  const double start = seconds_now();
  loader_.load(state_.step, images_.data(), labels_.data());
  report.load_seconds = seconds_now() - start;
  const LossResult result = network_.forward(images_.data(), labels_.data(), pass(state_.step, true));
  if (!std::isfinite(result.loss)) throw lost_loss(fmt::format("of step {}", state_.step), result.loss);
  far_steps_ = result.loss > far_loss_ ? far_steps_ + 1 : 0;
  if (far_steps_ >= kFarSteps)
    throw lost_loss(fmt::format("of the last {} steps has been above {:.0f}, at step {} it", kFarSteps,
                                far_loss_, state_.step),
                    result.loss);
  last_loss_ = report.loss = result.loss;
  report.correct = result.correct;
  if (record != nullptr) {
    Recorder recorder(network_, *record);
    network_.backward([&](const ConvLayer& layer) { recorder.observe(layer); });
    TraceInfo info;
    info.dataset = data_.train->name();
    info.progress =
        static_cast<double>(state_.step) / static_cast<double>(std::max<std::int64_t>(options_.steps, 1));
    info.epoch = epoch();
    info.loss = result.loss;
    *trace = recorder.finish(info);
  } else {
    network_.backward();
  }
  report.rate = options_.schedule.at(state_.step);
  optimizer_->step(report.rate, state_.step);
  if (pruning_) pruning_->after_step(state_.step);
  weights_changed();
  ++state_.step;
  ++state_.line.steps;
  state_.line.loss += report.loss;
  state_.line.correct += report.correct;
  report.seconds = seconds_now() - start;
  return report;
}

std::optional<TestReport> Trainer::test(const dataset::Dataset& data, const std::function<bool()>& stop) {
  dataset::LoaderOptions order = loader_.options();
  order.batch = static_cast<int>(std::min<std::int64_t>(order.batch, data.size()));
  const dataset::Loader loader(data, order);
  const auto batch = static_cast<int>(network_.options().batch);
  TestReport report;
  std::int64_t correct = 0;
  for (std::int64_t first = 0; first < data.size(); first += batch) {
    if (stop()) return std::nullopt;
    const int used = loader.load_in_order(first, batch, images_.data(), labels_.data());
    const LossResult result = network_.forward(images_.data(), labels_.data(), pass(0, false), used);
    report.loss += result.loss * static_cast<double>(used) / static_cast<double>(data.size());
    correct += result.correct;
  }
  report.accuracy = static_cast<double>(correct) / static_cast<double>(data.size());
  return report;
}

ZeroReport Trainer::zeros() const {
  ZeroReport report;
  double macs = 0;
  for (const ConvLayer* layer : network_.conv_layers()) {
    if (layer->initial()) continue;
    const auto weight = static_cast<double>(layer->shape().macs());
    report.activations += weight * layer->input_zeros();
    report.gradients += weight * layer->gradient_zeros();
    macs += weight;
  }
  if (macs > 0) {
    report.activations /= macs;
    report.gradients /= macs;
  }
  return report;
}

std::optional<double> Trainer::weight_zeros() {
  if (pruning_) return pruning_->zero_share();
  double zeros = 0, all = 0;
  for (ConvLayer* layer : network_.conv_layers()) {
    const auto share = layer->weight_zeros();
    if (!share) continue;
    const auto size = static_cast<double>(layer->shape().w_elements());
    zeros += *share * size;
    all += size;
  }
  return all > 0 ? std::optional(zeros / all) : std::nullopt;
}

Settings Trainer::settings() const {
  TrainSpec spec;
  spec.network = network_.options();
  spec.training = options_;
  Settings settings{{"model", network_.graph().model},
                    {"network", fmt::format("{:016x}", fingerprint(network_.graph()))},
                    {"data", data_.train->name()},
                    {"train_size", std::to_string(data_.train->size())}};
  for (Setting& setting : checkpoint_settings(spec)) settings.push_back(std::move(setting));
  return settings;
}

void Trainer::start_from(const std::filesystem::path& path) {
  load_parameters(path, network_.parameters());
  if (pruning_) pruning_->clear();
  weights_changed();
}

bool Trainer::save(const std::filesystem::path& path, const Settings& extra) {
  // Weights can be finite and yet so large that the next step fails: a run could not continue from them.
  const double loss = network_.forward(images_.data(), labels_.data(), pass(state_.step, false)).loss;
  if (!std::isfinite(loss)) throw lost_loss(fmt::format("after step {}", state_.step), loss);
  // Outside of training a batch norm's loss says little until its running statistics have settled.
  const bool statistics = std::ranges::any_of(
      state_.parameters, [](const Parameter* p) { return p->kind == Parameter::Kind::kBuffer; });
  const double now = statistics ? last_loss_ : loss;
  if (now > far_loss_) {
    if (done()) throw lost_loss(fmt::format("after step {}", state_.step), now);
    return false;
  }
  Settings all = settings();
  all.insert(all.end(), extra.begin(), extra.end());
  write_checkpoint(path, state_, all);
  return true;
}

void Trainer::resume(const std::filesystem::path& path, const Settings& extra) {
  Settings all = settings();
  // A run may continue for longer, or end sooner, than was planned.
  std::erase_if(all, [](const Setting& setting) { return setting.key == "steps"; });
  all.insert(all.end(), extra.begin(), extra.end());
  read_checkpoint(path, state_, all);
  weights_changed();
}

}  // namespace lacuna::train
