// Pruned training with kernels that skip zero weights learns what dense kernels learn.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

using Method = PruningOptions::Method;

constexpr const char* kPrunedModel =
    "model: plain\n"
    "layers:\n"
    "  - conv: {name: a, out: 16, kernel: 3, padding: 1}\n"
    "  - relu\n"
    "  - conv: {name: b, out: 24, kernel: 3, stride: 2, padding: 1}\n"
    "  - relu\n"
    "  - conv: {name: c, out: 32, kernel: 1}\n"
    "  - relu\n"
    "  - linear: {name: d, out: $classes}\n";

TinyOptions pruned_run(Method method, Kernels kernels, std::int64_t every) {
  TinyOptions options;
  options.model = kPrunedModel;
  options.kernels = kernels;
  options.network.pruned = true;
  options.train.pruning = {.method = method, .zeros = 0.85, .every = every};
  return options;
}

void expect_close(Network& a, Network& b, const std::string& what) {
  for (std::size_t p = 0; p < a.parameters().size(); ++p) {
    const AlignedFloats &x = a.parameters()[p]->value, &y = b.parameters()[p]->value;
    double most = 0, apart = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      most = std::max(most, std::fabs(static_cast<double>(x[i])));
      apart = std::max(apart, std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
    }
    EXPECT_LE(apart, 1e-4 * most) << what << " " << a.parameters()[p]->name;
  }
}

// Weights move after the third step and again after the sixth.
TEST(PrunedTraining, LearnsWhatDenseKernelsLearn) {
  struct Variant {
    Method method;
    std::int64_t growth_steps, kept_only;  // of the seven steps
  };
  // SM needs all gradients in the steps that its momentum remembers, here in every one; or in those we say.
  for (const auto& [method, growth_steps, kept_only] : {Variant{Method::kSparseMomentum, 0, 0},
                                                        {Method::kSparseMomentum, 1, 5},
                                                        {Method::kDynamicSparse, 0, 7}}) {
    TinyOptions options = pruned_run(method, Kernels::kDense, 3);
    options.train.pruning.growth_steps = growth_steps;
    TinyRun dense(options);
    options.kernels = Kernels::kSparse;
    TinyRun skipping(options);
    for (std::int64_t step = 1; step <= 7; ++step) {
      dense.run_to(step);
      skipping.run_to(step);
      expect_close(dense.network, skipping.network, "step " + std::to_string(step));
      for (const Pruning::Layer& layer : skipping.trainer.pruning()->layers()) {
        const AlignedFloats& weights = skipping.network.parameters()[layer.parameter]->value;
        for (std::size_t i = 0; i < layer.alive.size(); ++i)
          EXPECT_TRUE(layer.alive[i] != 0 || weights[static_cast<std::int64_t>(i)] == 0) << "step " << step;
      }
      if (HasFailure()) return;
    }
    for (std::size_t l = 0; l < dense.trainer.pruning()->layers().size(); ++l)
      EXPECT_EQ(dense.trainer.pruning()->layers()[l].alive, skipping.trainer.pruning()->layers()[l].alive);
    const ConvLayer& layer = *skipping.network.conv_layers()[1];
    EXPECT_EQ(layer.use(Operation::kForward).skipped_calls[Operand::kW], 7);
    EXPECT_EQ(layer.use(Operation::kInputGrad).skipped_calls[Operand::kW], 7);
    EXPECT_EQ(layer.use(Operation::kWeightGrad).skipped_calls[Operand::kW], kept_only);
    EXPECT_EQ(skipping.network.conv_layers()[0]->use(Operation::kForward).sparse_calls, 0);
  }
}

// A checkpoint brings other places with it.
TEST(PrunedTraining, GoesOnFromACheckpointToTheBit) {
  for (const Method method : {Method::kSparseMomentum, Method::kDynamicSparse}) {
    TinyOptions options = pruned_run(method, Kernels::kSparse, 2);
    options.train.pruning.growth_steps = 1;
    ResumedRun run(options);
    EXPECT_EQ(values_of(run.whole.network), values_of(run.resumed.network));
  }
}

// A test between steps uses the weights that are packed already; the steps after it do not notice.
TEST(PrunedTraining, TestsDoNotDisturbIt) {
  TinyRun one(pruned_run(Method::kDynamicSparse, Kernels::kSparse, 3));
  TinyRun other(pruned_run(Method::kDynamicSparse, Kernels::kSparse, 3));
  for (std::int64_t step = 1; step <= 5; ++step) {
    one.run_to(step);
    other.run_to(step);
    const double accuracy = other.trainer.test().accuracy;
    EXPECT_EQ(other.trainer.test().accuracy, accuracy);
  }
  EXPECT_EQ(values_of(one.network), values_of(other.network));
}

// Without its trainer a network has no pattern, and looks for zeros itself.
TEST(PrunedTraining, ANetworkOutlivesItsTrainer) {
  const auto train_twice = [](Network& network, const TinyOptions& options) {
    const dataset::DatasetPair data = tiny_data(options);
    for (int run = 0; run < 2; ++run) {
      Trainer trainer(network, data, options.train);
      trainer.run_step();
      trainer.run_step();
    }
    // Without a trainer.
    const std::vector<float> images(static_cast<std::size_t>(options.batch * 3 * 64), 0.5F);
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(options.batch), 1);
    return network.forward(images.data(), labels.data(), Pass{}).loss;
  };
  std::vector<double> losses;
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    const TinyOptions options = pruned_run(Method::kDynamicSparse, kernels, 3);
    Network network(parse_model(options.model, "tiny", {{"size", "8"}}), network_options(options));
    losses.push_back(train_twice(network, options));
    EXPECT_EQ(network.parameters()[2]->kept.places, nullptr);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-4);
}

TEST(PrunedTraining, GradientsOfZeroWeightsAreComputedWhereTheyAreNeeded) {
  const auto needed = [](const PruningOptions& options, double momentum) {
    Parameter first("a", Parameter::Kind::kWeights, {4}), second("b", Parameter::Kind::kWeights, {4});
    const auto optimizer = make_sgd({&first, &second}, {.momentum = momentum}, 1);
    const Pruning pruning(*optimizer, options);
    std::string text;
    for (std::int64_t step = 0; step < 12; ++step) text += pruning.needs_all_gradients(step) ? '1' : '.';
    return text;
  };
  const auto sm = Method::kSparseMomentum;
  EXPECT_EQ(needed({.method = sm, .every = 5, .growth_steps = 2}, 0.9), "...11...11..");
  EXPECT_EQ(needed({.method = sm, .every = 5, .until = 9, .growth_steps = 2}, 0.9), "...11.......");
  EXPECT_EQ(needed({.method = sm, .every = 5}, 0.9), "111111111111");
  EXPECT_EQ(needed({.method = sm, .every = 5}, 0), "....1....1..");
  EXPECT_EQ(needed({.method = sm, .every = 5}, 0.1), "...11...11..");  // 0.1 squared is one percent
  EXPECT_EQ(needed({.method = Method::kDynamicSparse, .every = 5}, 0.9), "............");
  EXPECT_EQ(needed({.method = Method::kNone, .every = 5}, 0.9), "111111111111");
}

}  // namespace
}  // namespace lacuna::train
