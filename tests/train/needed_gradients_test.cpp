// Input gradients left out where a ReLU discards them: the gradients of all parameters stay the same, and
// kernels other than those of input gradients give the same bits.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "train/engine_step.hpp"
#include "train/graph/discarded.hpp"
#include "train/graph/model_file.hpp"

namespace lacuna::train::twin {
namespace {

constexpr std::int64_t kImages = 2;

Graph graph_of(const std::string& name) {
  return open_model(name, {{"size", name == "vgg16-cifar" ? "32" : "64"}, {"classes", "10"}});
}

NetworkOptions options_of(NeededGradients needed) {
  NetworkOptions options{kImages, Kernels::kSparse, 2};
  options.needed = needed;
  return options;
}

std::int64_t left_out(Network& network) {
  std::int64_t calls = 0;
  for (const ConvLayer* layer : network.conv_layers())
    calls += layer->use(Operation::kInputGrad).skipped_calls[Operand::kA];
  return calls;
}

class WholeNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(WholeNetwork, GradientsOfParametersAreTheSame) {
  const Graph graph = graph_of(GetParam());
  const Problem problem = draw_problem(graph, kImages, 5);
  Network all(graph, options_of(NeededGradients::kAll)), needed(graph, options_of(NeededGradients::kAuto));
  const Step expected = run_step(all, problem), got = run_step(needed, problem);
  EXPECT_EQ(left_out(all), 0);
  EXPECT_GT(left_out(needed), 0);
  EXPECT_EQ(got.loss.loss, expected.loss.loss);
  EXPECT_EQ(got.outputs.back(), expected.outputs.back());
  ASSERT_EQ(got.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    const std::vector<float>& other = got.gradients.at(name);
    float most = 0, apart = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      most = std::max(most, std::fabs(gradient[i]));
      apart = std::max(apart, std::fabs(gradient[i] - other[i]));
    }
    // The order of sums differs, and batch norm amplifies that from layer to layer.
    EXPECT_LE(apart, 1e-4F * most) << name;
  }
  // A recorder sees the gradients of outputs: their zeros are those of the ReLUs behind, either way.
  for (const auto& [name, gradient] : expected.conv_gradients) {
    const std::vector<float>& other = got.conv_gradients.at(name);
    ASSERT_EQ(std::ranges::count(gradient, 0.0F), std::ranges::count(other, 0.0F)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, WholeNetwork,
                         ::testing::Values("vgg16-cifar", "resnet18", "resnet50", "densenet121"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(NeededGradients, OnlyBehindAReLU) {
  const Graph graph = parse_model(
      "model: paths\n"
      "layers:\n"
      "  - conv: {name: images, out: 16, kernel: 3, padding: 1}\n"
      "  - relu\n"
      "  - conv: {name: relu_before, out: 16, kernel: 3, padding: 1}\n"
      "  - conv: {name: conv_before, out: 16, kernel: 3, padding: 1}\n"
      "  - relu\n"
      "  - max_pool\n"
      "  - dropout\n"
      "  - concat: [[], [conv: {name: dropped, out: 16, kernel: 1}, relu]]\n"
      "  - conv: {name: concatenated, out: 16, kernel: 3, padding: 1}\n"
      "  - relu\n"
      "  - concat: [[], [conv: {name: inside, out: 16, kernel: 1}]]\n"
      "  - conv: {name: half_relu, out: 16, kernel: 3, padding: 1}\n"
      "  - relu\n"
      "  - average_pool\n"
      "  - linear: {name: averaged, out: 10}\n",
      "test", {});
  std::vector<std::string> found;
  for (const Node& node : graph.nodes)
    if (is_product(node.kind) && discards_gradient_of_zeros(graph, node.inputs[0]))
      found.push_back(node.name);
  EXPECT_EQ(found, (std::vector<std::string>{"relu_before", "dropped", "concatenated", "inside"}));
}

}  // namespace
}  // namespace lacuna::train::twin
