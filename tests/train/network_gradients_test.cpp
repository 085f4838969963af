// Small whole networks: outputs and gradients of the engine against the double-precision twin.
#include <cmath>
#include <gtest/gtest.h>

#include "train/gradient_check.hpp"
#include "train/graph/model_file.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

Graph from_yaml(const std::string& layers, const std::string& size = "9", const std::string& channels = "3") {
  return parse_model(
      "model: m\nparameters: {size: " + size + ", channels: " + channels + ", classes: 7}\n" + layers,
      "m.yaml", {});
}

TEST(WholeNetworks, VggLike) {
  check_both(from_yaml(R"(
layers:
  - conv: {out: 8, kernel: 3, padding: 1}
  - relu
  - conv: {out: 20, kernel: 3, padding: 1}
  - relu
  - max_pool: {kernel: 2, ceil: yes}
  - conv: {out: 17, kernel: 3, padding: 1}
  - relu
  - max_pool: {kernel: 3, stride: 2, padding: 1}
  - linear: {out: 30}
  - relu
  - dropout: {rate: 0.4}
  - linear: {out: $classes}
)"));
}

const char* const kResidual = R"(
blocks:
  basic:
    parameters: {out: ~, stride: 1, project: no}
    layers:
      - residual:
          body:
            - conv: {out: $out, kernel: 3, stride: $stride, padding: 1, bias: no}
            - batch_norm
            - relu
            - conv: {out: $out, kernel: 3, padding: 1, bias: no}
            - batch_norm
          shortcut:
            - choose: {by: $project, no: [], yes: [conv: {out: $out, kernel: 1, stride: $stride, bias: no}, batch_norm]}
      - relu
layers:
  - conv: {out: 16, kernel: 3, stride: 2, padding: 1, bias: no}
  - batch_norm
  - relu
  - basic: {out: 16}
  - basic: {out: 24, stride: 2, project: yes}
  - average_pool: global
  - linear: {out: $classes}
)";

TEST(WholeNetworks, Residual) {
  check_both(from_yaml(kResidual, "13"));
  check_both(from_yaml(kResidual, "11", "1"), {.batch = 2, .seed = 4});
}

TEST(WholeNetworks, PreActivationResidual) {
  check_both(from_yaml(R"(
layers:
  - conv: {out: 20, kernel: 3, padding: 1}
  - repeat:
      times: 2
      layers:
        - residual:
            body:
              - batch_norm
              - relu
              - conv: {out: 20, kernel: 3, padding: 1}
  - batch_norm
  - relu
  - average_pool: global
  - linear: {out: $classes}
)",
                       "7"));
}

TEST(WholeNetworks, Dense) {
  check_both(from_yaml(R"(
layers:
  - conv: {out: 12, kernel: 3, padding: 1, bias: no}
  - repeat:
      times: 3
      layers:
        - concat:
            - []
            - - batch_norm
              - relu
              - conv: {out: 5, kernel: 1, bias: no}
              - batch_norm
              - relu
              - conv: {out: 7, kernel: 3, padding: 1, bias: no}
  - batch_norm
  - relu
  - conv: {out: 16, kernel: 1, bias: no}
  - average_pool: {kernel: 2, ceil: yes}
  - average_pool: global
  - linear: {out: $classes}
)",
                       "7"));
}

TEST(WholeNetworks, SqueezeAndGroups) {
  check_both(from_yaml(R"(
layers:
  - conv: {out: 16, kernel: 3, stride: 2}
  - relu
  - max_pool: {kernel: 3, stride: 2, ceil: yes}
  - conv: {out: 6, kernel: 1}
  - relu
  - concat:
      - [conv: {out: 16, kernel: 1}, relu]
      - [conv: {out: 32, kernel: 3, padding: 1}, relu]
  - conv: {out: 48, kernel: 3, padding: 1, groups: 3}
  - relu
  - conv: {out: 24, kernel: 3, padding: 1, groups: 12, bias: no}
  - relu
  - dropout: {rate: 0.2}
  - conv: {out: $classes, kernel: 1}
  - relu
  - average_pool: global
)",
                       "17"));
}

TEST(WholeNetworks, Fixup) {
  check_both(from_yaml(R"(
layers:
  - conv: {out: 18, kernel: 3, padding: 1, bias: no}
  - scalar_bias
  - relu
  - repeat:
      times: 2
      layers:
        - residual:
            body:
              - scalar_bias
              - conv: {out: 18, kernel: 3, padding: 1, bias: no}
              - scalar_bias
              - relu
              - scalar_bias
              - conv: {out: 18, kernel: 3, padding: 1, bias: no}
              - scalar_scale
              - scalar_bias
        - relu
  - average_pool: global
  - scalar_bias
  - linear: {out: $classes}
)",
                       "6"));
}

TEST(WholeNetworks, Mlp) {
  check_both(from_yaml(R"(
layers:
  - linear: {out: 53}
  - relu
  - linear: {out: 31}
  - relu
  - linear: {out: $classes}
)",
                       "5"),
             {.batch = 6});
}

TEST(WholeNetworks, Inference) {
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    check_network(from_yaml(kResidual, "13"), {.kernels = kernels, .training = false});
    GraphBuilder b({3, 5, 5});
    check_network(finish(b, b.dropout(b.norm(b.conv(0, 20)), 0.5)), {.kernels = kernels, .training = false});
  }
}

// 17 MB per tensor: oneDNN's batch norm processes tensors larger than the caches in parts. No layer here has
// an edge, so any batch will do.
TEST(WholeNetworks, LargeTensors) {
  GraphBuilder b({2, 64, 64});
  const int norm = b.norm(b.conv(0, 20, {.kernel = {1, 1}, .bias = false}));
  const int pooled = b.pool(NodeKind::kAveragePool, norm, {{16, 16}, {16, 16}});
  check_network(finish(b, pooled), {.batch = 32, .threads = 2, .samples = 1, .node_samples = 1});
}

TEST(WholeNetworks, ManyClasses) {
  GraphBuilder b({3, 4, 4});
  b.linear(b.conv(0, 6), 1003);
  check_both(b.graph());
}

// Logits whose exponentials overflow single precision.
TEST(WholeNetworks, HugeLogits) {
  GraphBuilder b({3, 4, 4});
  b.linear(0, 20);
  Problem problem = draw_problem(b.graph(), 5, 21);
  for (float& v : problem.parameters.at("linear2.weight")) v *= 1e4F;
  Network network(b.graph(), {5, Kernels::kDense, 1});
  const Step step = run_step(network, problem);
  DoubleNet twin(b.graph());
  for (const auto& [name, values] : problem.parameters)
    twin.parameters[name] = {values.begin(), values.end()};
  const Outcome outcome =
      twin.run({5, {problem.images.begin(), problem.images.end()}, problem.labels, true, {}, {}});
  EXPECT_GT(outcome.loss, 1000);
  EXPECT_NEAR(step.loss.loss, outcome.loss, 1e-5 * outcome.loss);
  for (const float g : step.gradients.at("linear2.bias")) EXPECT_LE(std::fabs(g), 1.001F);
}

// Images past `used` do not count, neither in the loss nor in its gradient.
TEST(WholeNetworks, OnlyUsedImagesCount) {
  GraphBuilder b({3, 5, 5});
  b.linear(b.relu(b.conv(0, 20)), 5);
  const Problem problem = draw_problem(b.graph(), 4, 8);
  Network four(b.graph(), {4, Kernels::kDense, 1});
  Network two(b.graph(), {2, Kernels::kDense, 1});
  load(four, problem.parameters);
  load(two, problem.parameters);
  const LossResult a = four.forward(problem.images.data(), problem.labels.data(), {}, 2);
  const LossResult c = two.forward(problem.images.data(), problem.labels.data(), {});
  four.backward();
  two.backward();
  EXPECT_NEAR(a.loss, c.loss, 1e-6);
  EXPECT_EQ(a.correct, c.correct);
  for (std::size_t i = 0; i < four.parameters().size(); ++i) {
    const AlignedFloats &x = four.parameters()[i]->grad, &y = two.parameters()[i]->grad;
    EXPECT_LE(relative_difference({x.data(), x.data() + x.size()}, {y.data(), y.data() + y.size()}), 1e-5);
  }
}

}  // namespace
}  // namespace lacuna::train::twin
