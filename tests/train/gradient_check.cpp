#include "train/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "base/random.hpp"
#include "train/graph/fuse.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

// Values closer to the edge of a ReLU or max pool than this share of the largest value of their tensor might
// fall on the other side in single precision: another batch is drawn.
constexpr double kMargin = 1e-5;
// The same where a batch norm sees little but rounding errors in some channel,
constexpr double kAmplification = 30;
// or where the network is so sure that gradients are the rounding errors of 1 - p.
constexpr double kLoss = 0.02;

// The error of a single-precision sum of `count` values, relative to the sum: each addition rounds the total
// so far by a random share of half an epsilon, so the errors of a total that grows steadily add up to epsilon
// / 2 * sqrt(count / 3). A CPU with L lanes adds chains of count / L values only (with 8 lanes, 131,072
// values were off by 1.2e-5, with 16 by less than 1e-5); four standard deviations of one chain hold on all of
// them.
double sum_error(std::int64_t count) {
  constexpr double kHalfEpsilon = std::numeric_limits<float>::epsilon() / 2;
  return 4 * kHalfEpsilon * std::sqrt(static_cast<double>(count) / 3);
}

Doubles widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

class Check {
 public:
  Check(const Graph& graph, const CheckOptions& options)
      : graph_(graph),
        options_(options),
        twin_(graph),
        random_(options.seed * 31 + 7),
        network_(graph, network_options(options)) {}

  // The gradients of all outputs are compared: also those that a ReLU discards.
  static NetworkOptions network_options(const CheckOptions& options) {
    NetworkOptions all{options.batch, options.kernels, options.threads};
    all.needed = NeededGradients::kAll;
    return all;
  }

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

  // Nodes that run as one layer share their output: it is that of the last of them.
  int last_of_output(int of) const {
    int last = of;
    for (int i = of + 1; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (&network_.activation(i) == &network_.activation(of)) last = i;
    return last;
  }

  // Memory that gradients share holds that of the node which used it last in the backward pass, the first of
  // them; but a batch norm leaves that of the ReLU behind it as it is.
  int owner_of_gradient(int of) const {
    // A norm that is part of a sum runs in its place.
    const auto place = [this](int i) {
      return fusion_.part_of_sum(graph_, i) ? fusion_.output_of[static_cast<std::size_t>(i)] : i;
    };
    int first = of;
    for (int i = static_cast<int>(graph_.nodes.size()) - 1; i > 0; --i)
      if (network_.activation(i).grad == network_.activation(of).grad && place(i) <= place(first)) first = i;
    if (node(first).kind != NodeKind::kBatchNorm) return first;
    for (int i = first + 1; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (&network_.activation(i) == &network_.activation(first))
        return node(i).kind == NodeKind::kRelu && node(i).inputs[0] == first ? i : first;
    return first;
  }

  // Which values are dropped follows from the seed, the layer's name and the position: the same layer alone
  // shows it on ones. It must have done the same here.
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
      const Doubles& expected = base_.output(last_of_output(i));
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
      const Node& norm = node(owner_of(p->name));
      const double tolerance = std::max(1e-5, sum_error(options_.batch * norm.out.h * norm.out.w));
      for (std::int64_t c = 0; c < p->value.size(); ++c) {
        const double value = expected[static_cast<std::size_t>(c)];
        EXPECT_NEAR(p->value[c], value, tolerance * std::max(1.0, std::fabs(value))) << p->name;
      }
    }
  }

  // --- gradients
  // The derivative of the loss when `node` is computed after `move(+-step)`; `added` is what to put on top of
  // its output. No value where a decision changes on the way.
  template <typename Move>
  bool difference(int at, double step, const Move& move, const Doubles* added, double& derivative) {
    double losses[2] = {};
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

  // The slope along one coordinate, or along a direction through all of them.
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
        << probe.what << ": the engine gives " << got << ", differences give " << expected << ", error "
        << error << ", gradients up to " << probe.scale << ", allowed " << probe.tolerance;
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
      if (owner_of_gradient(i) != i) continue;
      // The gradient of flattened images is not needed.
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
  const Fusion fusion_ = fuse(graph_);
  CheckOptions options_;
  DoubleNet twin_;
  Random random_;
  Network network_;
  Problem problem_;
  Step step_;
  Batch batch_;
  Outcome base_;
  double overall_ = 0;  // the largest gradient of any tensor
  Probes probes_;
};

}  // namespace

Probes probe_network(const Graph& graph, const CheckOptions& options) { return Check(graph, options).run(); }

void check_network(const Graph& graph, const CheckOptions& options) {
  const Probes probes = probe_network(graph, options);
  EXPECT_TRUE(probes.settled) << "no batch was found whose values keep away from the edges: "
                              << describe(graph);
  EXPECT_LE(probes.skipped, probes.made / 10)
      << "of " << probes.made << " derivatives in " << describe(graph);
}

void check_both(const Graph& graph, CheckOptions options) {
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    options.kernels = kernels;
    check_network(graph, options);
  }
}

}  // namespace lacuna::train::twin
