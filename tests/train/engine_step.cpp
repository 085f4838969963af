#include "train/engine_step.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "base/random.hpp"

namespace lacuna::train::twin {
namespace {

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * std::numbers::pi * random.uniform());
}

// Lanes past the last channel.
bool padding_is_zero(const Activation& a, const float* blocked) {
  if (!a.blocked()) return true;
  const std::int64_t blocks = a.blocks(), pixels = a.shape.h * a.shape.w;
  for (std::int64_t i = 0; i < a.floats(); ++i)
    if (i / (pixels * 16) % blocks * 16 + i % 16 >= a.shape.c && blocked[i] != 0) return false;
  return true;
}

// Fills all gradients with NaN, so that whatever a step does not write is noticed.
void poison(Network& network) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::size_t nodes = network.graph().nodes.size();
  for (std::size_t i = 1; i < nodes; ++i) {
    const Activation& a = network.activation(static_cast<int>(i));
    const std::int64_t blocks = a.blocks(), pixels = a.shape.h * a.shape.w;
    for (std::int64_t j = 0; j < a.floats(); ++j)
      if (j / (pixels * 16) % blocks * 16 + j % 16 < a.shape.c) a.grad[j] = nan;
  }
  for (Parameter* p : network.parameters())
    for (std::int64_t i = 0; i < p->grad.size(); ++i) p->grad[i] = nan;
}

}  // namespace

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float v : values) most = std::max(most, std::fabs(static_cast<double>(v)));
  return most;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return most == 0 ? 0 : most / largest(a);
}

std::vector<float> plain(const Activation& a, const float* blocked) {
  if (!a.blocked()) return {blocked, blocked + a.n * a.shape.size()};
  const std::int64_t blocks = a.blocks(), pixels = a.shape.h * a.shape.w;
  std::vector<float> values;
  for (std::int64_t n = 0; n < a.n; ++n)
    for (std::int64_t c = 0; c < a.shape.c; ++c)
      for (std::int64_t p = 0; p < pixels; ++p)
        values.push_back(blocked[((n * blocks + c / 16) * pixels + p) * 16 + c % 16]);
  return values;
}

Problem draw_problem(const Graph& graph, std::int64_t batch, std::uint64_t seed) {
  Random random(seed);
  random.bits();
  Problem problem;
  const auto draw = [&](const std::string& name, std::int64_t count, double mean, double deviation) {
    std::vector<float>& values = problem.parameters[name];
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(mean + deviation * normal(random)));
  };
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear) {
      const LayerShape shape = graph.layer_shape(node, 1);
      const auto fan_in = static_cast<double>(shape.c_per_group() * shape.taps());
      draw(node.name + ".weight", shape.w_elements(), 0, std::sqrt(2 / fan_in));
      if (node.bias) draw(node.name + ".bias", node.out_channels, 0, 0.2);
    } else if (node.kind == NodeKind::kBatchNorm) {
      draw(node.name + ".weight", node.out.c, 1, 0.3);
      draw(node.name + ".bias", node.out.c, 0, 0.3);
      draw(node.name + ".running_mean", node.out.c, 0, 0.3);
      draw(node.name + ".running_var", node.out.c, 1, 0.1);
    } else if (node.kind == NodeKind::kScalarBias) {
      draw(node.name + ".bias", 1, 0, 0.3);
    } else if (node.kind == NodeKind::kScalarScale) {
      draw(node.name + ".scale", 1, 1, 0.3);
    }
  }
  for (std::int64_t i = 0; i < batch * graph.input.size(); ++i)
    problem.images.push_back(static_cast<float>(normal(random)));
  for (std::int64_t i = 0; i < batch; ++i)
    problem.labels.push_back(static_cast<std::int32_t>(random.integer(0, graph.classes() - 1)));
  return problem;
}

void load(Network& network, const std::map<std::string, std::vector<float>>& parameters) {
  for (Parameter* p : network.parameters()) {
    const auto found = parameters.find(p->name);
    if (found == parameters.end() || static_cast<std::int64_t>(found->second.size()) != p->value.size())
      throw std::logic_error("no values for " + p->name);
    std::copy(found->second.begin(), found->second.end(), p->value.data());
  }
}

Step run_step(Network& network, const Problem& problem, bool training) {
  // First a step on the negated batch, which must leave no trace.
  std::vector<float> other = problem.images;
  for (float& v : other) v = -v;
  load(network, problem.parameters);
  poison(network);
  network.forward(other.data(), problem.labels.data(), {training, kDropoutSeed + 1});
  if (training) network.backward();
  load(network, problem.parameters);
  poison(network);

  Step step;
  step.loss = network.forward(problem.images.data(), problem.labels.data(), {training, kDropoutSeed});
  const int nodes = static_cast<int>(network.graph().nodes.size());
  for (int i = 0; i < nodes; ++i) {
    const Activation& a = network.activation(i);
    step.outputs.push_back(plain(a, a.data.data()));
    EXPECT_TRUE(padding_is_zero(a, a.data.data())) << network.graph().nodes[static_cast<std::size_t>(i)].name;
  }
  step.node_gradients.resize(static_cast<std::size_t>(nodes));
  if (!training) return step;
  network.backward([&](const ConvLayer& layer) {
    step.inputs[layer.name()] = plain(layer.input(), layer.input().data.data());
    step.conv_gradients[layer.name()] = plain(layer.output(), layer.output().grad);
  });
  for (int i = 1; i < nodes; ++i) {
    const Activation& a = network.activation(i);
    step.node_gradients[static_cast<std::size_t>(i)] = plain(a, a.grad);
    EXPECT_TRUE(padding_is_zero(a, a.grad))
        << "gradient of " << network.graph().nodes[static_cast<std::size_t>(i)].name;
  }
  for (const Parameter* p : network.parameters())
    if (p->learnt()) step.gradients[p->name].assign(p->grad.data(), p->grad.data() + p->grad.size());
  return step;
}

}  // namespace lacuna::train::twin
