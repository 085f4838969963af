// The built-in networks, small images: loss and logits against the twin, and the gradient of all parameters
// together along random directions and along itself.
#include <cmath>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "train/double_net.hpp"
#include "train/gradient_check.hpp"
#include "train/graph/model_file.hpp"

namespace lacuna::train::twin {
namespace {

constexpr std::int64_t kBatch = 2;

struct Case {
  const char* name;
  const char* size;
  ModelSettings more;
};

class BuiltIn : public ::testing::TestWithParam<Case> {};

TEST_P(BuiltIn, GradientAlongDirections) {
  ModelSettings settings = GetParam().more;
  settings["size"] = GetParam().size;
  settings["classes"] = "10";
  Graph graph = open_model(GetParam().name, settings);
  for (Node& node : graph.nodes) node.rate = 0;  // the twin does not know what would be dropped
  const Problem problem = draw_problem(graph, kBatch, 5);
  Network network(graph, {kBatch, Kernels::kSparse, 2});
  const Step step = run_step(network, problem);  // without the gradients that a ReLU discards

  DoubleNet twin(graph);
  for (const auto& [name, values] : problem.parameters)
    twin.parameters[name] = {values.begin(), values.end()};
  Batch batch{kBatch, {problem.images.begin(), problem.images.end()}, problem.labels, true, {}, {}};
  const Outcome base = twin.run(batch);
  EXPECT_NEAR(step.loss.loss, base.loss, 1e-4 * std::max(1.0, base.loss));
  const Doubles& logits = *base.outputs.back();
  EXPECT_LE(relative_difference({logits.begin(), logits.end()}, step.outputs.back()), 1e-4);

  std::int64_t decisions = 0, otherwise = 0;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::kRelu) continue;
    const Doubles& expected = base.output(static_cast<int>(i));
    Doubles& passed = batch.passed[graph.nodes[i].name];
    for (std::size_t j = 0; j < expected.size(); ++j) {
      passed.push_back(step.outputs[i][j] > 0 ? 1 : 0);
      ++decisions;
      otherwise += (expected[j] > 0) == (step.outputs[i][j] > 0) ? 0 : 1;
    }
  }
  EXPECT_LE(otherwise, decisions / 50'000) << "of " << decisions << " decisions";

  const Named kept = twin.parameters;
  Random random(6);
  for (const bool along_itself : {false, true}) {
    Named direction;
    double length = 0, expected = 0, squares = 0;
    for (const auto& [name, gradient] : step.gradients) {
      Doubles& along = direction[name];
      for (const float g : gradient) {
        const double d = along_itself ? static_cast<double>(g) : random.uniform() * 2 - 1;
        along.push_back(d);
        length += d * d;
        expected += d * static_cast<double>(g);
        squares += d * d * static_cast<double>(g) * static_cast<double>(g);
      }
    }
    const double by = 1e-6 / std::sqrt(length);
    double losses[2];
    for (const int side : {0, 1}) {
      for (const auto& [name, values] : direction) {
        const Doubles& from = kept.at(name);
        Doubles& to = twin.parameters.at(name);
        for (std::size_t i = 0; i < values.size(); ++i) to[i] = from[i] + (side == 0 ? by : -by) * values[i];
      }
      losses[side] = twin.run(batch).loss;
    }
    const double slope = (losses[0] - losses[1]) / (2 * by);
    EXPECT_NEAR(slope, expected, 1e-3 * (along_itself ? expected : std::sqrt(squares)))
        << (along_itself ? "along the gradient" : "along a random direction");
  }
}

// With 64x64 images every batch norm sees at least eight values per channel.
INSTANTIATE_TEST_SUITE_P(Models, BuiltIn,
                         ::testing::Values(Case{"mlp", "12", {}}, Case{"vgg-small", "32", {}},
                                           Case{"alexnet", "64", {}}, Case{"squeezenet", "64", {}},
                                           Case{"resnet18", "64", {}}, Case{"resnet50", "64", {}},
                                           Case{"densenet121", "64", {}}, Case{"fixup-resnet50", "64", {}}),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lacuna::train::twin
