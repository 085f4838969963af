#include "train/layers/memory_estimate.hpp"

#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "kernels/layout/scratchpad.hpp"
#include "train/graph/model_file.hpp"

namespace lacuna::train {
namespace {

constexpr double kGibibyte = 1 << 30;

// What the network has really allocated for outputs and gradients.
TEST(MemoryEstimate, IsWhatTheNetworkAllocates) {
  for (const char* model : {"vgg-small", "resnet18", "squeezenet", "densenet121"}) {
    const NetworkOptions options{2, Kernels::kDense, 1};
    const Graph graph = open_model(model, {{"size", "32"}, {"channels", "16"}});
    const Network network(graph, options);
    double data = 0, gradients = 0, largest = 0;
    std::set<const Activation*> seen;
    for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
      const Activation& a = network.activation(i);
      if (!seen.insert(&a).second) continue;
      data += static_cast<double>(a.data.size()) * sizeof(float);
      gradients += static_cast<double>(a.own_grad.size()) * sizeof(float);
      if (i > 0) largest = std::max(largest, static_cast<double>(a.floats()) * sizeof(float));
    }
    const MemoryEstimate estimate = estimate_memory(graph, options);
    EXPECT_EQ(estimate.activations, data) << model;
    EXPECT_EQ(estimate.gradients, gradients + largest) << model;
    EXPECT_EQ(estimate.weights, 12.0 * static_cast<double>(graph.parameters())) << model;
  }
}

TEST(MemoryEstimate, SkippingNeedsWorkspace) {
  const Graph graph = open_model("vgg-small", {{"size", "32"}});
  const auto total = [&](Kernels kernels) { return estimate_memory(graph, {32, kernels, 2}).total(); };
  EXPECT_GT(total(Kernels::kSparse), estimate_memory(graph, {32, Kernels::kDense, 2}).activations);
  EXPECT_GT(total(Kernels::kAuto), total(Kernels::kSparse));
  EXPECT_GT(total(Kernels::kAuto), total(Kernels::kDense));
}

// Winograd's scratchpad, which oneDNN and our own kernel say and ask for.
TEST(MemoryEstimate, KnowsTheScratchpad) {
  const Graph graph = open_model("vgg-small", {{"size", "32"}});
  NetworkOptions options{8, Kernels::kAuto, 1};
  const MemoryEstimate exact = estimate_memory(graph, options);
  options.allow_winograd = true;
  const double winograd = estimate_memory(graph, options).workspace - exact.workspace;
  std::size_t most = 0;
  std::thread([&] {  // whose scratchpad is empty
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::kConv || node.inputs[0] == 0) continue;
      kernels::ConvOptions plan;
      plan.layout = kernels::Layout::kBlocked;
      for (const kernels::Impl impl : {kernels::Impl::kDenseWinograd, kernels::Impl::kWinograd4x4})
        for (const Operation op : kOperations) try {
            plan.impl = impl;
            plan.op = op;
            const kernels::ConvPlan made(graph.layer_shape(node, options.batch), plan);
          } catch (const kernels::ConvError&) {  // this CPU has none
          }
    }
    most = kernels::scratchpad_held();
  })
      .join();
  EXPECT_GT(most, 1'000'000U);
  EXPECT_LE(winograd, static_cast<double>(most));
  EXPECT_GE(winograd, 0.8 * static_cast<double>(most));  // direct has one, too
  const auto fitted = [&](double limit) { return fit_memory(graph, options, limit).allow_winograd; };
  EXPECT_FALSE(fitted(exact.total() + winograd / 2));
  EXPECT_TRUE(fitted(exact.total() + winograd));
}

// The batch that the message names fits, and is the largest or nearly.
TEST(MemoryEstimate, NamesABatchThatFits) {
  const Graph graph = open_model("vgg-small", {{"size", "32"}});
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse, Kernels::kAuto}) {
    NetworkOptions options{512, kernels, 1};
    const double limit = estimate_memory(graph, options).total() / 4;
    std::string message;
    try {
      fit_memory(graph, options, limit);
    } catch (const InputError& error) {
      message = error.what();
    }
    const std::size_t at = message.find("use a batch of at most ");
    ASSERT_NE(at, std::string::npos) << message;
    options.batch = std::stoll(message.substr(at + 23));
    EXPECT_NO_THROW(fit_memory(graph, options, limit)) << message;
    EXPECT_GE(options.batch, 32) << message;
  }
  EXPECT_GT(memory_limit(), 0.1 * kGibibyte);
}

}  // namespace
}  // namespace lacuna::train
