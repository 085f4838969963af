#include "bench/torch/sides.hpp"

#include <algorithm>
#include <fstream>

#include "base/clock.hpp"
#include "base/core_wait.hpp"
#include "base/error.hpp"

namespace lacuna::bench {
namespace {

using nlohmann::json;

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

}  // namespace

// A network of this engine that continues from a checkpoint.
class Sides::Ours {
 public:
  Ours(const train::Graph& graph, const train::NetworkOptions& options, const dataset::DatasetPair& data,
       const train::TrainOptions& how)
      : network_(graph, options), trainer_(network_, data, how) {}

  train::Trainer& trainer() { return trainer_; }
  // Returns Winograd's share of all products so far.
  double winograd_share() const {
    std::int64_t all = 0, winograd = 0;
    for (const train::ConvLayer* layer : network_.conv_layers())
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

Sides::Sides(const TorchSpec& spec, const Control& control)
    : spec_(spec),
      control_(control),
      torch_(pythons_to_try(spec_.python), folder_, spec_.threads, spec_.dropped_variables, control_.stop) {}
Sides::~Sides() = default;

train::Trainer& Sides::auto_trainer() { return auto_->trainer(); }
double Sides::winograd_share() const { return auto_->winograd_share(); }

bool Sides::build(const train::Graph& graph, const dataset::DatasetPair& data, const train::TrainOptions& how,
                  const train::NetworkOptions& dense, const train::NetworkOptions& chosen, bool dropout) {
  train::Graph same = graph;
  for (train::Node& node : same.nodes)
    if (!dropout && node.kind == train::NodeKind::kDropout) node.rate = 0;
  dense_.reset();
  auto_.reset();
  dense_ = std::make_unique<Ours>(same, dense, data, how);
  auto_ = std::make_unique<Ours>(same, chosen, data, how);
  for (const auto* side : {&dense_, &auto_}) (*side)->trainer().start_from(checkpoint());
  const dataset::ImageShape image = data.train->shape();
  image_ = {image.channels, image.height, image.width};
  const auto built = torch_.ask({{"do", "build"},
                                 {"graph", graph_json(same)},
                                 {"dropout", dropout},
                                 {"checkpoint", checkpoint().string()},
                                 {"threads", spec_.threads},
                                 {"lr", spec_.rate},
                                 {"momentum", how.optimizer.momentum},
                                 {"weight_decay", how.optimizer.weight_decay}});
  if (!built) return false;
  if (built->value("parameters", std::int64_t{0}) != same.parameters())
    throw InputError(spec_.python, "PyTorch's network has another number of parameters", "report this");
  return true;
}

void Sides::write_batches(std::int64_t steps) const {
  std::ofstream file(folder_.file("batches"), std::ios::binary | std::ios::trunc);
  std::vector<float> images(static_cast<std::size_t>(spec_.batch * image_[0] * image_[1] * image_[2]));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(spec_.batch));
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

// Runs the steps on one side while the threads of the others sleep.
std::optional<Block> Sides::run_block(Side side, std::int64_t steps) {
  wait_until_asleep(torch_.id());
  wait_until_asleep(0);
  const bool ours = side == Side::kDense || side == Side::kAuto;
  const pid_t process = ours ? 0 : torch_.id();
  const double start = seconds_now();
  const CoreTimes before = core_times(process);
  std::optional<Block> block =
      ours ? (side == Side::kDense ? dense_ : auto_)->run(steps, control_.stop) : run_torch(side, steps);
  if (!block) return block;
  block->whole = seconds_now() - start;
  block->waited = lost_to_others(before, core_times(process));
  return block;
}

std::optional<Block> Sides::run_torch(Side side, std::int64_t steps) {
  const auto answer = torch_.ask({{"do", "train"},
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

std::optional<Round> Sides::run(std::int64_t steps, bool reversed) {
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

}  // namespace lacuna::bench
