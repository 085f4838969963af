#include "train/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "base/random.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

constexpr std::uint64_t kDropoutSeed = 77;
// Values closer to a ReLU's or a max pool's edge than this share of their tensor's largest might fall on the
// other side in single precision: such a batch is drawn anew.
constexpr double kMargin = 1e-5;
// So is one of whose channels a batch norm sees little but rounding errors.
constexpr double kAmplification = 30;
// And one that the network is sure of: gradients are then the rounding errors of 1 - p.
constexpr double kLoss = 0.02;

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * std::numbers::pi * random.uniform());
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float v : values) most = std::max(most, std::fabs(static_cast<double>(v)));
  return most;
}

Doubles widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// Lanes past the last channel.
bool padding_is_zero(const Activation& a, const float* blocked) {
  if (!a.blocked()) return true;
  const std::int64_t blocks = a.blocks(), pixels = a.shape.h * a.shape.w;
  for (std::int64_t i = 0; i < a.floats(); ++i)
    if (i / (pixels * 16) % blocks * 16 + i % 16 >= a.shape.c && blocked[i] != 0) return false;
  return true;
}

// The gradients of nodes that something reads are filled with NaN: whatever a step does not write shows.
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
  // A step on the negative of the batch: nothing of it may be left.
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

namespace {

class Check {
 public:
  Check(const Graph& graph, const CheckOptions& options)
      : graph_(graph),
        options_(options),
        twin_(graph),
        random_(options.seed * 31 + 7),
        network_(graph, {options.batch, options.kernels, options.threads}) {}

  Probes run() {
    SCOPED_TRACE("seed " + std::to_string(options_.seed) + ", " + kernels_name(options_.kernels) + ": " +
                 describe(graph_));
    if (!settle()) {
      return {0, 0, false};
    }
    compare_outputs();
    if (options_.training && !::testing::Test::HasFailure()) compare_gradients();
    return probes_;
  }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // Draws until no value is so close to an edge that single precision may decide otherwise.
  bool settle() {
    for (std::uint64_t attempt = 0; attempt < 30; ++attempt) {
      problem_ = draw_problem(graph_, options_.batch, options_.seed + 1'000'003 * attempt);
      step_ = run_step(network_, problem_, options_.training);
      batch_ = {options_.batch, widen(problem_.images), problem_.labels, options_.training, {}, {}};
      for (const auto& [name, values] : problem_.parameters) twin_.parameters[name] = widen(values);
      if (options_.training) take_dropout();
      base_ = twin_.run(batch_);
      if (base_.margin() > kMargin && base_.amplification < kAmplification && base_.loss > kLoss) return true;
    }
    return false;
  }

  // The ReLU that runs in place on the node's output, or 0.
  int in_place_relu(int of) const {
    for (int i = of + 1; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (node(i).kind == NodeKind::kRelu && node(i).inputs[0] == of &&
          &network_.activation(i) == &network_.activation(of))
        return i;
    return 0;
  }

  // Which values are dropped follows from the seed, the layer's name and the position: the same layer alone
  // shows it on ones. What it did here must fit.
  void take_dropout() {
    for (int i = 1; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (node(i).kind != NodeKind::kDropout) continue;
      Graph alone;
      alone.input = node(i).out;
      Node input, dropout = node(i), flat, classifier;
      input.name = "input";
      input.out = flat.out = node(i).out;
      dropout.inputs = {0};
      flat.kind = NodeKind::kFlatten;
      flat.inputs = {1};
      flat.out = {node(i).out.size(), 1, 1};
      classifier.kind = NodeKind::kLinear;
      classifier.inputs = {2};
      classifier.out_channels = 2;
      classifier.out = {2, 1, 1};
      alone.nodes = {input, dropout, flat, classifier};
      Network network(alone, {options_.batch, Kernels::kDense, 1});
      const std::vector<float> ones(static_cast<std::size_t>(options_.batch * node(i).out.size()), 1.0F);
      const std::vector<std::int32_t> labels(static_cast<std::size_t>(options_.batch), 0);
      network.forward(ones.data(), labels.data(), {true, kDropoutSeed});
      const std::vector<float> seen = plain(network.activation(1), network.activation(1).data.data());
      const std::vector<float>& out = step_.outputs[static_cast<std::size_t>(i)];
      for (std::size_t j = 0; j < seen.size(); ++j) {
        EXPECT_TRUE(seen[j] == 0 || std::fabs(seen[j] - 1 / (1 - node(i).rate)) < 1e-5 * seen[j]) << seen[j];
        EXPECT_TRUE(seen[j] != 0 || out[j] == 0) << node(i).name << " kept what it should have dropped";
        batch_.dropout[node(i).name].push_back(seen[j] == 0 ? 0 : 1 / (1 - node(i).rate));
      }
    }
  }

  void compare_outputs() {
    EXPECT_NEAR(step_.loss.loss, base_.loss, 1e-5 * std::max(1.0, std::fabs(base_.loss)));
    std::int64_t correct = 0;
    const auto classes = static_cast<std::size_t>(graph_.classes());
    const Doubles& logits = *base_.outputs.back();
    for (std::size_t n = 0; n < problem_.labels.size(); ++n) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n * classes);
      if (std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row == problem_.labels[n])
        ++correct;
    }
    EXPECT_EQ(step_.loss.correct, correct);
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const int relu = in_place_relu(i);
      const Doubles& expected = base_.output(relu != 0 ? relu : i);
      const std::vector<float>& got = step_.outputs[static_cast<std::size_t>(i)];
      ASSERT_EQ(got.size(), expected.size());
      double most = 0, worst = 0;
      for (std::size_t j = 0; j < got.size(); ++j) {
        most = std::max(most, std::fabs(expected[j]));
        const double difference = std::fabs(static_cast<double>(got[j]) - expected[j]);
        worst =
            std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
      }
      EXPECT_LE(worst, 2e-5 * most + 1e-6) << "output of " << node(i).name;
    }
    if (options_.training) compare_running();
  }

  void compare_running() {
    for (Parameter* p : network_.parameters()) {
      if (p->learnt()) continue;
      const Doubles& expected = base_.running.at(p->name);
      for (std::int64_t c = 0; c < p->value.size(); ++c) {
        const double value = expected[static_cast<std::size_t>(c)];
        EXPECT_NEAR(p->value[c], value, 1e-5 * std::max(1.0, std::fabs(value))) << p->name;
      }
    }
  }

  // --- gradients
  // The derivative of the loss when `node` is computed after `move(+-step)`; `added` is what to put on top of
  // its output. No value where a decision changes on the way.
  template <typename Move>
  bool difference(int at, double step, const Move& move, const Doubles* added, double& derivative) {
    double losses[2];
    for (const int side : {0, 1}) {
      move(side == 0 ? step : -step);
      const Outcome outcome = twin_.rerun(batch_, base_, at, added);
      losses[side] = outcome.loss;
      move(side == 0 ? -step : step);
      if (outcome.decisions != base_.decisions) return false;
    }
    derivative = (losses[0] - losses[1]) / (2 * step);
    return true;
  }

  // Against the slope along one coordinate or along a direction through all of them.
  struct Probe {
    std::string what;
    double scale;  // of the gradients it belongs to
    double tolerance;
  };
  void compare(const Probe& probe, bool smooth, double expected, double got) {
    ++probes_.made;
    if (!smooth) {
      ++probes_.skipped;
      return;
    }
    const double error = std::fabs(expected - got);
    EXPECT_TRUE(error <= probe.tolerance)
        << probe.what << ": the engine says " << got << ", differences " << expected << ", error " << error
        << ", gradients up to " << probe.scale << ", allowed " << probe.tolerance;
  }

  // Checks one gradient tensor. `target` is moved; `at` is the node that changes with it.
  void check_tensor(const std::string& what, const std::vector<float>& gradient, Doubles& target, int at,
                    const Doubles* added, int samples) {
    const double scale = largest(gradient);
    // The gradient of a bias before a batch norm is zero, the sum of many that are not.
    const double tolerance = 1e-4 * scale + options_.noise * overall_;
    const auto count = static_cast<std::int64_t>(gradient.size());
    for (int s = 0; s < samples && s < count; ++s) {
      const auto i = static_cast<std::size_t>(count <= samples ? s : random_.integer(0, count - 1));
      double slope = 0;
      const double step = 1e-5 * std::max(1.0, std::fabs(target[i]));
      const double kept = target[i];
      bool smooth = difference(
          at, step, [&](double by) { target[i] += by; }, added, slope);
      target[i] = kept;
      if (!smooth) {
        smooth = difference(
            at, step / 100, [&](double by) { target[i] += by; }, added, slope);
        target[i] = kept;
      }
      compare({what + "[" + std::to_string(i) + "]", scale, tolerance}, smooth, slope,
              static_cast<double>(gradient[i]));
    }
    // All coordinates at once, each up or down. Zeros that a ReLU or a pool reads may stand on its edge:
    // where no step is smooth they stay.
    Doubles direction;
    for (std::size_t i = 0; i < gradient.size(); ++i) direction.push_back(random_.chance(0.5) ? 1 : -1);
    const Doubles kept = target;
    const auto move = [&](double by) {
      for (std::size_t i = 0; i < target.size(); ++i) target[i] += by * direction[i];
    };
    bool smooth = false;
    double slope = 0;
    for (const double step : {1e-6, 1e-7, 1e-8, 2e-7, 2e-8}) {
      if (step == 2e-7 && added != nullptr)
        for (std::size_t i = 0; i < target.size(); ++i)
          if (base_.output(at)[i] == 0) direction[i] = 0;
      smooth = difference(at, step, move, added, slope);
      target = kept;
      if (smooth) break;
    }
    double expected = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      expected += direction[i] * static_cast<double>(gradient[i]);
    compare({what + " along a direction", scale, tolerance * std::sqrt(static_cast<double>(count)) + 1e-7},
            smooth, slope, expected);
  }

  int owner_of(const std::string& parameter) const {
    for (int i = 1; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (parameter.substr(0, parameter.rfind('.')) == node(i).name) return i;
    throw std::logic_error("whose is " + parameter);
  }

  void compare_gradients() {
    for (const auto& [name, gradient] : step_.gradients) overall_ = std::max(overall_, largest(gradient));
    for (const auto& gradient : step_.node_gradients) overall_ = std::max(overall_, largest(gradient));
    for (const auto& [name, gradient] : step_.gradients)
      check_tensor(name, gradient, twin_.parameters.at(name), owner_of(name), nullptr, options_.samples);
    for (int i = 1; i < static_cast<int>(graph_.nodes.size()); ++i) {
      // Of two nodes that share memory it holds the gradient of the one that came last in the backward pass:
      // the ReLU's input or, where the ReLU is part of a batch norm, its output.
      const int relu = in_place_relu(i);
      if (relu != 0 && node(i).kind == NodeKind::kBatchNorm) continue;
      if (node(i).kind == NodeKind::kRelu && in_place_relu(node(i).inputs[0]) == i &&
          node(node(i).inputs[0]).kind != NodeKind::kBatchNorm)
        continue;
      // Nobody asks for the gradient of flattened images.
      if (node(i).kind == NodeKind::kFlatten && node(i).inputs[0] == 0) continue;
      Doubles added(base_.output(i).size());
      check_tensor("output of " + node(i).name, step_.node_gradients[static_cast<std::size_t>(i)], added, i,
                   &added, options_.node_samples);
    }
    for (const auto& [name, gradient] : step_.conv_gradients) {
      const int i = owner_of(name + ".");
      EXPECT_EQ(gradient, step_.node_gradients[static_cast<std::size_t>(i)]) << "G of " << name;
      EXPECT_EQ(step_.inputs.at(name), step_.outputs[static_cast<std::size_t>(node(i).inputs[0])])
          << "A of " << name;
    }
  }

  const Graph& graph_;
  CheckOptions options_;
  DoubleNet twin_;
  Random random_;
  Network network_;
  Problem problem_;
  Step step_;
  Batch batch_;
  Outcome base_;
  double overall_ = 0;  // the largest gradient of all
  Probes probes_;
};

}  // namespace

Probes probe_network(const Graph& graph, const CheckOptions& options) { return Check(graph, options).run(); }

void check_network(const Graph& graph, const CheckOptions& options) {
  const Probes probes = probe_network(graph, options);
  EXPECT_TRUE(probes.settled) << "no batch whose values keep off the edges was found for " << describe(graph);
  EXPECT_LE(probes.skipped, probes.made / 10)
      << "of " << probes.made << " derivatives in " << describe(graph);
}

}  // namespace lacuna::train::twin
