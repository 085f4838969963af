// The engine against PyTorch: the same weights and batch give the same loss, the same A, W and G, and after
// three steps the same parameters. tests/data/torch/README.md describes the files; LACUNA_TORCH_FIXTURES
// names another folder of them (tests/torch/check_fresh makes one).
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "base/io/byte_source.hpp"
#include "base/io/safetensors.hpp"
#include "train/double_net.hpp"
#include "train/gradient_check.hpp"
#include "train/graph/model_file.hpp"
#include "train/optimizer/optimizer.hpp"
#include "train/run/recorder.hpp"

namespace lacuna::train::twin {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr double kRate = 0.05;  // with momentum 0.9 and decay 5e-4
constexpr double kAdamwRate = 0.01;
constexpr OptimizerOptions kAdamw{.weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4};

const char* const kVgg = R"(
model: vgg
parameters: {size: 12}
layers:
  - conv: {name: conv1, out: 8, kernel: 3, padding: 1}
  - relu
  - max_pool
  - conv: {name: conv2, out: 20, kernel: 3, padding: 1}
  - relu
  - max_pool
  - linear: {name: fc1, out: 32}
  - relu
  - linear: {name: fc2, out: $classes}
)";

const char* const kResnet = R"(
model: resnet
parameters: {size: 12}
blocks:
  block:
    parameters: {stride: 1, project: no}
    layers:
      - residual:
          body:
            - conv: {name: conv1, out: 32, kernel: 3, stride: $stride, padding: 1, bias: no}
            - batch_norm: {name: bn1}
            - relu
            - conv: {name: conv2, out: 32, kernel: 3, padding: 1, bias: no}
            - batch_norm: {name: bn2}
          shortcut:
            - choose:
                by: $project
                no: []
                yes:
                  - conv: {name: down, out: 32, kernel: 1, stride: $stride, bias: no}
                  - batch_norm: {name: down_bn}
      - relu
layers:
  - conv: {name: conv1, out: 16, kernel: 3, padding: 1, bias: no}
  - batch_norm: {name: bn1}
  - relu
  - block: {name: a, stride: 2, project: yes}
  - block: {name: b}
  - average_pool: global
  - linear: {name: fc, out: $classes}
)";

const char* const kConcat = R"(
model: concat
parameters: {size: 12}
layers:
  - conv: {name: conv1, out: 16, kernel: 3, padding: 1}
  - relu
  - conv: {name: squeeze, out: 8, kernel: 1}
  - relu
  - concat:
      - [conv: {name: expand1, out: 16, kernel: 1}, relu]
      - [conv: {name: expand3, out: 16, kernel: 3, padding: 1}, relu]
  - max_pool: {kernel: 3, stride: 2, padding: 1}
  - concat:
      - []
      - - batch_norm: {name: bn}
        - relu
        - conv: {name: grouped, out: 32, kernel: 3, padding: 1, groups: 4, bias: no}
  - average_pool: {kernel: 2}
  - linear: {name: fc, out: $classes}
)";

std::filesystem::path folder() {
  const char* given = std::getenv("LACUNA_TORCH_FIXTURES");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::path(LACUNA_SOURCE_DIR) / "tests/data/torch";
}

template <typename T>
std::vector<T> values_of(const SafetensorsEntry& entry) {
  std::vector<T> values(entry.data.size() / sizeof(T));
  std::memcpy(values.data(), entry.data.data(), entry.data.size());
  return values;
}

struct Fixture {
  std::map<std::string, std::vector<float>> initial, after, adamw;
  std::vector<float> images, losses;
  std::vector<std::int32_t> labels;

  explicit Fixture(const std::filesystem::path& path) {
    const auto source = ByteSource::open(path);
    for (const SafetensorsEntry& entry : Safetensors::parse(source->bytes(), path.string()).tensors) {
      if (entry.name == "batch/labels")
        for (const std::int64_t label : values_of<std::int64_t>(entry))
          labels.push_back(static_cast<std::int32_t>(label));
      if (entry.dtype != "F32") continue;
      if (entry.name.starts_with("initial/")) initial[entry.name.substr(8)] = values_of<float>(entry);
      if (entry.name.starts_with("after/")) after[entry.name.substr(6)] = values_of<float>(entry);
      if (entry.name.starts_with("adamw/")) adamw[entry.name.substr(6)] = values_of<float>(entry);
      if (entry.name == "batch/images") images = values_of<float>(entry);
      if (entry.name == "loss") losses = values_of<float>(entry);
    }
  }
};

// Values that a ReLU reads and that lie so near to zero that PyTorch and the engine may decide differently.
std::int64_t values_near_an_edge(const Graph& graph, const Fixture& fixture) {
  DoubleNet twin(graph);
  for (const auto& [name, values] : fixture.initial) twin.parameters[name] = {values.begin(), values.end()};
  const Outcome outcome =
      twin.run({kBatch, {fixture.images.begin(), fixture.images.end()}, fixture.labels, true, {}, {}});
  std::int64_t near = 0;
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::kRelu)
      for (const double v : outcome.output(node.inputs[0]))
        if (std::fabs(v) < 1e-6) ++near;
  return near;
}

// Values to 1e-5 of the largest; a mask may differ only where the input of a ReLU is next to zero.
void expect_same(const LayerTensor& torch, const LayerTensor& ours, std::int64_t near,
                 const std::string& what) {
  ASSERT_TRUE(torch.values && ours.values) << what;
  ASSERT_EQ(torch.mask.rows, ours.mask.rows) << what;
  ASSERT_EQ(torch.mask.channels, ours.mask.channels) << what;
  double most = 0, worst = 0;
  std::int64_t masks = 0;
  for (std::int64_t r = 0; r < torch.mask.rows; ++r)
    for (std::int64_t c = 0; c < torch.mask.channels; ++c) {
      const bool same = torch.mask.bit(r, c) == ours.mask.bit(r, c);
      masks += same ? 0 : 1;
      const auto a = static_cast<double>(torch.values.at(r, c)),
                 b = static_cast<double>(ours.values.at(r, c));
      most = std::max(most, std::fabs(a));
      if (same) worst = std::max(worst, std::isnan(b) ? 1e9 : std::fabs(a - b));
    }
  EXPECT_LE(worst, 1e-5 * most) << what;
  EXPECT_LE(masks, near) << what << ": masks";
}

struct Case {
  const char* name;
  const char* model;
};

// The parameters of a network are those that PyTorch has learnt, and not those that it began with.
void expect_learnt(Network& network, const std::map<std::string, std::vector<float>>& initial,
                   const std::map<std::string, std::vector<float>>& learnt) {
  EXPECT_EQ(network.parameters().size(), learnt.size());
  for (const Parameter* p : network.parameters()) {
    const std::vector<float> ours(p->value.data(), p->value.data() + p->value.size());
    EXPECT_LE(relative_difference(learnt.at(p->name), ours), 1e-4) << p->name;
    EXPECT_GE(relative_difference(learnt.at(p->name), initial.at(p->name)), 1e-3) << p->name;
  }
}

class AgainstTorch : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder() / (std::string(GetParam().name) + ".safetensors")))
      GTEST_FAIL() << "no fixture in " << folder();
  }
  Graph graph() const { return parse_model(GetParam().model, GetParam().name, {}); }
  Fixture fixture() const { return Fixture(folder() / (std::string(GetParam().name) + ".safetensors")); }
};

TEST_P(AgainstTorch, OperandsOfTheFirstStep) {
  const Fixture given = fixture();
  const Trace torch = Trace::open(folder() / (std::string(GetParam().name) + ".trace.safetensors"));
  const std::int64_t near = values_near_an_edge(graph(), given);
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    Network network(graph(), {kBatch, kernels, 1});
    load(network, given.initial);
    const LossResult loss = network.forward(given.images.data(), given.labels.data(), {});
    EXPECT_NEAR(loss.loss, given.losses[0], 1e-5);
    Recorder recorder(network, {kBatch, true});
    network.backward([&](const ConvLayer& layer) { recorder.observe(layer); });
    const Trace ours = recorder.finish({});
    ASSERT_EQ(torch.layers().size(), ours.layers().size());
    for (const lacuna::Layer& layer : torch.layers()) {
      const auto same_name = [&](const lacuna::Layer& l) { return l.name == layer.name; };
      const auto found = std::find_if(ours.layers().begin(), ours.layers().end(), same_name);
      ASSERT_NE(found, ours.layers().end()) << layer.name;
      EXPECT_EQ(found->shape, layer.shape) << layer.name;
      const std::string what = layer.name + ", " + kernels_name(kernels);
      expect_same(layer.a, found->a, near, "A of " + what);
      expect_same(layer.w, found->w, 0, "W of " + what);
      expect_same(layer.g, found->g, near, "G of " + what);
    }
  }
}

TEST_P(AgainstTorch, ThreeSteps) {
  const Fixture given = fixture();
  ASSERT_EQ(given.losses.size(), 3U);
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    Network network(graph(), {kBatch, kernels, 1});
    load(network, given.initial);
    const auto sgd = make_sgd(network.parameters(), {0.9, 5e-4}, 1);
    for (const float expected : given.losses) {
      EXPECT_NEAR(network.forward(given.images.data(), given.labels.data(), {}).loss, expected, 1e-4);
      network.backward();
      sgd->step(kRate, 0);
    }
    expect_learnt(network, given.initial, given.after);
  }
}

TEST_P(AgainstTorch, ThreeStepsWithAdamw) {
  const Fixture given = fixture();
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    Network network(graph(), {kBatch, kernels, 1});
    load(network, given.initial);
    const auto adamw = make_adamw(network.parameters(), kAdamw, 1);
    for (std::int64_t step = 0; step < 3; ++step) {
      network.forward(given.images.data(), given.labels.data(), {});
      network.backward();
      adamw->step(kAdamwRate, step);
    }
    expect_learnt(network, given.initial, given.adamw);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, AgainstTorch,
                         ::testing::Values(Case{"vgg", kVgg}, Case{"resnet", kResnet},
                                           Case{"concat", kConcat}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace lacuna::train::twin
