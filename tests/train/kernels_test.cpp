// Dense, zero-skipping and automatic kernels give the same training step with any number of threads.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "train/gradient_check.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

constexpr double kAgree = 1e-4;

// The dispatcher keeps its measurements for this machine; those of tests must not end up among them.
class TemporaryCache {
 public:
  TemporaryCache() {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna_kernels_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    setenv("LACUNA_CACHE_DIR", name.c_str(), 1);
  }
  ~TemporaryCache() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;

 private:
  std::filesystem::path folder_;
};

// One folder for the program: the dispatcher looks for it once.
void use_temporary_cache() { static const TemporaryCache cache; }

// No bias before a batch norm: its gradient is zero and what is computed is noise.
Graph residual_net() {
  GraphBuilder b({3, 15, 15});
  const int stem = b.relu(b.norm(b.conv(0, 32, {.padding = {1, 1}, .bias = false})));
  const int body =
      b.norm(b.conv(b.relu(b.norm(b.conv(stem, 48, {.stride = {2, 2}, .padding = {1, 1}, .bias = false}))),
                    48, {.padding = {1, 1}, .bias = false}));
  const int shortcut = b.norm(b.conv(stem, 48, {.kernel = {1, 1}, .stride = {2, 2}, .bias = false}));
  b.linear(b.global_pool(b.relu(b.add(body, shortcut))), 10);
  return b.graph();
}

Graph odd_net() {
  GraphBuilder b({3, 13, 11});
  const int stem = b.relu(b.conv(0, 20, {.padding = {1, 1}}));
  const int grouped = b.relu(b.conv(stem, 12, {.padding = {1, 1}, .groups = 4}));
  const int wide = b.relu(b.conv(stem, 17, {.padding = {2, 2}, .dilation = {2, 2}}));
  const int joined =
      b.pool(NodeKind::kMaxPool, b.concat({grouped, wide, stem}), {{3, 3}, {2, 2}, {1, 1}, true});
  const int second = b.relu(b.conv(joined, 33, {.kernel = {5, 3}, .padding = {2, 1}}));
  b.linear(b.relu(b.linear(second, 40)), 7);
  return b.graph();
}

Step step_with(const Graph& graph, Kernels kernels, int threads, const Problem& problem) {
  Network network(graph, {static_cast<std::int64_t>(problem.labels.size()), kernels, threads});
  return run_step(network, problem);
}

double difference(const Step& a, const Step& b) {
  double most = std::fabs(a.loss.loss - b.loss.loss) / a.loss.loss;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    most = std::max(most, relative_difference(a.outputs[i], b.outputs[i]));
  for (const auto& [name, gradient] : a.gradients)
    most = std::max(most, relative_difference(gradient, b.gradients.at(name)));
  for (const auto& [name, gradient] : a.conv_gradients)
    most = std::max(most, relative_difference(gradient, b.conv_gradients.at(name)));
  return most;
}

bool same_bits(const Step& a, const Step& b) {
  return a.loss.loss == b.loss.loss && a.gradients == b.gradients && a.outputs == b.outputs &&
         a.node_gradients == b.node_gradients;
}

TEST(Kernels, SettingsAndThreadsAgree) {
  use_temporary_cache();
  for (const Graph& graph : {residual_net(), odd_net()}) {
    const Problem problem = draw_problem(graph, 5, 11);
    const Step dense = step_with(graph, Kernels::kDense, 1, problem);
    const auto check = [&](Kernels kernels, int threads) {
      EXPECT_LE(difference(dense, step_with(graph, kernels, threads, problem)), kAgree)
          << kernels_name(kernels) << " with " << threads << " threads: " << describe(graph);
    };
    for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse})
      for (const int threads : {1, 2, 3}) check(kernels, threads);
    check(Kernels::kAuto, 2);  // measures for seconds, to choose between those
  }
}

// Far enough from it that the operands were rounded, and near enough that nothing else was.
TEST(Kernels, Bfloat16IsNearSinglePrecision) {
  if (!kernels::bfloat16_available()) GTEST_SKIP() << "this CPU has no bfloat16";
  use_temporary_cache();
  for (const Graph& graph : {residual_net(), odd_net()}) {
    const Problem problem = draw_problem(graph, 5, 11);
    const Step dense = step_with(graph, Kernels::kDense, 1, problem);
    for (const Kernels kernels : {Kernels::kDense, Kernels::kAuto})
      for (const int threads : {1, 3}) {
        if (kernels == Kernels::kAuto && threads == 1) continue;  // measures for seconds
        NetworkOptions options{static_cast<std::int64_t>(problem.labels.size()), kernels, threads};
        options.precision = Precision::kBfloat16;
        Network network(graph, options);
        const Step step = run_step(network, problem);
        // Of the last layer. Gradients jump where a ReLU or a pool decides otherwise.
        const double off = relative_difference(dense.outputs.back(), step.outputs.back());
        EXPECT_NEAR(step.loss.loss, dense.loss.loss, 0.03 * dense.loss.loss);
        EXPECT_LE(off, 0.1) << kernels_name(kernels) << ": " << describe(graph);
        if (kernels == Kernels::kDense) {
          EXPECT_GE(off, 1e-5) << describe(graph);
        }
      }
  }
}

// Rounding an operand to 8 bits changes it by 0.1 % (root mean square), the products of all layers together
// by less than 1 %. That much of the values next to zero passes a ReLU that stopped them, or the other way
// round: a share of some thousandths, and each is off by the whole of its gradient, so the gradients of
// weights by the root of that share, 5 to 10 %. A wrong product would be off by 100 %.
TEST(Kernels, Bfloat16GradientsAreNearSinglePrecision) {
  if (!kernels::bfloat16_available()) GTEST_SKIP() << "this CPU has no bfloat16";
  use_temporary_cache();
  const Graph graph = residual_net();
  const Problem problem = draw_problem(graph, 16, 12);
  const Step dense = step_with(graph, Kernels::kDense, 1, problem);
  for (const Kernels kernels : {Kernels::kDense, Kernels::kAuto}) {
    NetworkOptions options{static_cast<std::int64_t>(problem.labels.size()), kernels, 2};
    options.precision = Precision::kBfloat16;
    Network network(graph, options);
    const Step step = run_step(network, problem);
    double largest = 0;
    for (const auto& [name, gradient] : dense.gradients) {
      const auto& other = step.gradients.at(name);
      double off = 0, all = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        off += std::pow(double{gradient[i]} - double{other[i]}, 2);
        all += std::pow(double{gradient[i]}, 2);
      }
      largest = std::max(largest, std::sqrt(off / all));
      EXPECT_LE(std::sqrt(off / all), 0.15) << name << ", " << kernels_name(kernels);
    }
    if (kernels == Kernels::kDense) {
      EXPECT_GE(largest, 1e-4);
    }
  }
}

// Its errors are those of single precision, larger.
TEST(Kernels, WinogradIsNearTheOthers) {
  use_temporary_cache();
  const Graph graph = residual_net();
  const Problem problem = draw_problem(graph, 5, 11);
  const Step dense = step_with(graph, Kernels::kDense, 1, problem);
  NetworkOptions options{static_cast<std::int64_t>(problem.labels.size()), Kernels::kAuto, 1};
  options.allow_winograd = true;
  Network network(graph, options);
  const Step step = run_step(network, problem);
  EXPECT_NEAR(step.loss.loss, dense.loss.loss, 1e-4 * dense.loss.loss);
  EXPECT_LE(relative_difference(dense.outputs.back(), step.outputs.back()), 1e-3);
}

// It is much the fastest for 3x3 convolutions with many channels and few zeros.
TEST(Kernels, WinogradRunsWhereItWinsUnlessLeftOut) {
  use_temporary_cache();
  GraphBuilder b({3, 16, 16});
  const int first = b.conv(0, 64, {.padding = {1, 1}});
  b.linear(b.global_pool(b.conv(first, 64, {.padding = {1, 1}})), 10);
  const Problem problem = draw_problem(b.graph(), 8, 11);
  const auto calls = [&](bool allowed) {
    NetworkOptions options{static_cast<std::int64_t>(problem.labels.size()), Kernels::kAuto, 1};
    options.allow_winograd = allowed;
    Network network(b.graph(), options);
    run_step(network, problem);
    std::int64_t sum = 0;
    for (const ConvLayer* layer : network.conv_layers())
      for (const Operation op : kOperations) sum += layer->use(op).winograd_calls;
    return sum;
  };
  EXPECT_EQ(calls(false), 0);
  kernels::ConvOptions plan;
  plan.impl = kernels::Impl::kDenseWinograd;
  try {
    const kernels::ConvPlan there(LayerShape::conv2d(8, 64, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1}), plan);
  } catch (const kernels::ConvError&) {
    GTEST_SKIP() << "oneDNN has no Winograd for this CPU";
  }
  EXPECT_GT(calls(true), 0);
}

// The first step is as fast as the others.
TEST(Kernels, EverythingIsMeasuredBeforeTheFirstStep) {
  use_temporary_cache();
  const auto measured = [] {
    std::ifstream file(std::filesystem::path(std::getenv("LACUNA_CACHE_DIR")) / "kernels.txt");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  GraphBuilder b({3, 9, 9});  // shapes that no other test has
  b.linear(b.relu(b.conv(b.relu(b.conv(0, 19)), 21)), 11);
  const std::string before = measured();
  Network network(b.graph(), {3, Kernels::kAuto, 1});
  const std::string made = measured();
  EXPECT_NE(made, before);
  run_step(network, draw_problem(b.graph(), 3, 15));
  EXPECT_EQ(measured(), made);
}

// With dense or sparse kernels nothing depends on timing: a step gives the same bits again.
TEST(Kernels, AStepRepeatsToTheBit) {
  for (const Graph& graph : {residual_net(), odd_net()})
    for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse})
      for (const int threads : {1, 2}) {
        Network network(graph, {4, kernels, threads});
        const Problem problem = draw_problem(graph, 4, 12);
        const Step first = run_step(network, problem);
        EXPECT_TRUE(same_bits(first, run_step(network, problem))) << kernels_name(kernels) << " " << threads;
        EXPECT_TRUE(same_bits(first, step_with(graph, kernels, threads, problem)))
            << "a second network, " << kernels_name(kernels) << " " << threads;
      }
}

// What auto chooses by is measured once and kept.
TEST(Kernels, AutoRepeatsWithTheSameMeasurements) {
  use_temporary_cache();
  const Graph graph = residual_net();
  const Problem problem = draw_problem(graph, 5, 11);
  for (const bool winograd : {false, true}) {
    NetworkOptions options{static_cast<std::int64_t>(problem.labels.size()), Kernels::kAuto, 1};
    options.allow_winograd = winograd;
    Network first(graph, options), second(graph, options);
    EXPECT_TRUE(same_bits(run_step(first, problem), run_step(second, problem))) << winograd;
  }
}

TEST(Kernels, TheSparseSettingSkipsZeros) {
  const Graph graph = residual_net();
  Network network(graph, {4, Kernels::kSparse, 1});
  run_step(network, draw_problem(graph, 4, 13));
  for (const ConvLayer* layer : network.conv_layers())
    for (const Operation op : kOperations) {
      const OpUse& use = layer->use(op);
      const bool images = layer->initial();
      EXPECT_EQ(use.calls, images && op == Operation::kInputGrad ? 0 : 2) << layer->name();
      EXPECT_EQ(use.sparse_calls, images ? 0 : use.calls) << layer->name();
    }
}

TEST(Kernels, TheDenseSettingDoesNot) {
  const Graph graph = odd_net();
  Network network(graph, {4, Kernels::kDense, 1});
  run_step(network, draw_problem(graph, 4, 13));
  for (const ConvLayer* layer : network.conv_layers())
    EXPECT_EQ(layer->use(Operation::kForward).sparse_calls + layer->use(Operation::kInputGrad).sparse_calls +
                  layer->use(Operation::kWeightGrad).sparse_calls,
              0);
}

// All inputs or gradients of a layer may be zero: nothing of the previous step may be left.
TEST(Kernels, DeadLayers) {
  GraphBuilder b({3, 6, 6});
  const int dead = b.relu(b.conv(0, 20, {.padding = {1, 1}}));
  const int on_zeros = b.conv(dead, 18, {.padding = {1, 1}});
  b.linear(b.relu(on_zeros), 4);
  Problem problem = draw_problem(b.graph(), 3, 14);
  for (float& v : problem.parameters.at("conv1.bias")) v = -100;  // every ReLU closed
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    Network network(b.graph(), {3, kernels, 1});
    const Step step = run_step(network, problem);
    for (const char* name : {"conv1.weight", "conv1.bias", "conv3.weight"})
      for (const float g : step.gradients.at(name)) ASSERT_EQ(g, 0) << name << " " << kernels_name(kernels);
    EXPECT_GT(relative_difference(step.gradients.at("conv3.bias"),
                                  std::vector<float>(step.gradients.at("conv3.bias").size())),
              0.5);
  }
}

}  // namespace
}  // namespace lacuna::train::twin
