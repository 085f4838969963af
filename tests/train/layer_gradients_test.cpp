// Each kind of layer alone: outputs and gradients of the engine against the double-precision twin.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "train/gradient_check.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

using Kind = NodeKind;

// The convolution second, so that its input has a gradient.
Graph conv_net(const SampleShape& input, std::int64_t middle, std::int64_t out, const ConvSpec& spec) {
  GraphBuilder b(input);
  const int first = b.conv(0, middle, {.kernel = {1, 1}});
  return finish(b, b.conv(first, out, spec));
}

TEST(Gradients, Convolutions) {
  check_both(conv_net({3, 5, 5}, 16, 16, {.padding = {1, 1}}));
  check_both(conv_net({1, 7, 5}, 1, 1, {}));
  check_both(conv_net({2, 7, 7}, 20, 17, {.stride = {2, 2}, .padding = {1, 1}}));
  check_both(conv_net({2, 8, 8}, 17, 3, {.stride = {3, 3}}));  // 8 - 3 is not a multiple of 3
  check_both(conv_net({2, 8, 7}, 5, 33, {.kernel = {1, 1}, .stride = {2, 2}}));
  check_both(conv_net({2, 11, 11}, 7, 16, {.kernel = {5, 5}, .stride = {2, 2}, .padding = {2, 2}}));
  check_both(conv_net({2, 9, 9}, 16, 16, {.padding = {2, 2}, .dilation = {2, 2}}));
  check_both(conv_net({2, 11, 7}, 5, 6,
                      {.kernel = {3, 2}, .stride = {1, 2}, .padding = {0, 1}, .dilation = {3, 1}}));
  check_both(
      conv_net({2, 5, 5}, 16, 16, {.kernel = {1, 1}, .padding = {1, 1}}));  // outputs of the border alone
  check_both(conv_net({2, 3, 3}, 16, 8, {.kernel = {7, 7}, .padding = {3, 3}}));  // larger than its input
  check_both(conv_net({3, 1, 1}, 13, 19, {.kernel = {1, 1}, .bias = false}));
  check_both(conv_net({3, 1, 1}, 16, 16, {.padding = {1, 1}}));
  check_both(conv_net({2, 5, 5}, 16, 16, {.padding = {1, 1}}), {.batch = 1});
}

TEST(Gradients, GroupedConvolutions) {
  check_both(conv_net({3, 5, 5}, 32, 32, {.padding = {1, 1}, .groups = 2}));  // whole blocks
  check_both(conv_net({3, 5, 5}, 8, 12, {.padding = {1, 1}, .groups = 4}));
  check_both(conv_net({3, 5, 5}, 6, 6, {.stride = {2, 2}, .padding = {1, 1}, .groups = 6}));  // depthwise
  check_both(conv_net({3, 6, 6}, 16, 48, {.padding = {1, 1}, .groups = 16, .bias = false}));
  check_both(conv_net({3, 5, 5}, 34, 2, {.kernel = {1, 1}, .groups = 2}));
  GraphBuilder b({4, 5, 5});  // on the images
  check_both(finish(b, b.conv(0, 6, {.groups = 2})));
}

TEST(Gradients, FirstLayer) {
  GraphBuilder b({3, 9, 9});
  check_both(finish(b, b.conv(0, 20, {.stride = {2, 2}, .padding = {1, 1}})));
}

TEST(Gradients, Linear) {
  GraphBuilder one({7, 1, 1});
  one.linear(0, 3);
  check_both(one.graph());
  GraphBuilder images({3, 5, 7});  // flattened images
  images.linear(0, 2);
  check_both(images.graph());
  GraphBuilder deep({3, 3, 3});
  check_both(finish(deep, deep.relu(deep.linear(deep.relu(deep.linear(0, 37)), 19, false))));
  check_both(finish(deep, deep.linear(0, 16)), {.batch = 1});
  GraphBuilder single({1, 1, 1});
  single.linear(single.linear(0, 1), 2);
  check_both(single.graph(), {.batch = 17});
}

TEST(Gradients, BatchNorm) {
  for (const std::int64_t channels : {1, 16, 20, 35}) {
    GraphBuilder b({2, 4, 3});
    check_network(finish(b, b.norm(b.conv(0, channels))), {});
    check_network(finish(b, b.relu(b.norm(b.conv(0, channels, {.bias = false})))), {});
    check_network(finish(b, b.norm(b.relu(b.conv(0, channels)))), {});
  }
  GraphBuilder read_twice({2, 5, 5});
  const int norm = read_twice.norm(read_twice.conv(0, 18));
  check_network(finish(read_twice, read_twice.concat({read_twice.relu(norm), norm})), {});
  GraphBuilder images({3, 5, 5});
  check_network(finish(images, images.conv(images.norm(0), 4)), {});
  check_network(finish(images, images.relu(images.norm(0))), {});
  GraphBuilder vectors({3, 1, 1});
  check_network(finish(vectors, vectors.norm(vectors.conv(0, 20, {.kernel = {1, 1}}))), {.batch = 11});
}

// Three blocks of channels: one and three threads take whole blocks, two share them.
TEST(Gradients, NormsDoNotDependOnThreads) {
  GraphBuilder b({40, 9, 7});
  const int norm = b.norm(0);
  const int sum = b.relu(b.add(b.norm(norm), norm));
  b.linear(b.global_pool(sum), 3);
  const Problem problem = draw_problem(b.graph(), 5, 4);
  const auto outputs = [&](int threads) {
    Network network(b.graph(), {5, Kernels::kDense, threads});
    return run_step(network, problem).outputs;
  };
  const auto one = outputs(1);
  for (const int threads : {2, 3})
    for (const int node : {norm, sum})
      EXPECT_EQ(outputs(threads)[static_cast<std::size_t>(node)], one[static_cast<std::size_t>(node)])
          << threads;
}

TEST(Gradients, Relu) {
  GraphBuilder b({3, 4, 4});
  check_network(finish(b, b.relu(0)), {});
  check_network(finish(b, b.conv(b.relu(0), 4)), {});
  check_network(finish(b, b.relu(b.relu(b.conv(0, 20)))), {});
  check_network(finish(b, b.relu(b.relu(b.relu(b.norm(b.conv(0, 20)))))), {});
  check_network(finish(b, b.relu(b.flatten(b.conv(0, 5)))), {});
  const int conv = b.conv(0, 5);
  check_network(finish(b, b.concat({conv, b.relu(conv), b.relu(conv)})), {});
  check_network(finish(b, b.conv(b.relu(b.concat({conv, b.conv(0, 16)})), 6, {.kernel = {1, 1}})), {});
  check_network(finish(b, b.relu(b.pool(Kind::kAveragePool, conv, {}))), {});
  check_network(finish(b, b.relu(b.pool(Kind::kMaxPool, b.conv(0, 5), {}))), {});
  check_network(finish(b, b.relu(b.add(b.conv(0, 5), b.conv(0, 5)))), {});
  // The logits themselves.
  GraphBuilder last({3, 4, 4});
  last.relu(last.linear(last.conv(0, 5), 4));
  check_network(last.graph(), {});
  GraphBuilder pooled({3, 4, 4});
  pooled.global_pool(pooled.relu(pooled.conv(0, 4)));
  check_network(pooled.graph(), {});
}

TEST(Gradients, Pools) {
  const std::vector<PoolSpec> specs = {
      {},
      {{3, 3}, {2, 2}},
      {{3, 3}, {2, 2}, {1, 1}},
      {{3, 3}, {2, 2}, {0, 0}, true},
      {{3, 3}, {2, 2}, {1, 1}, true},
      {{2, 2}, {1, 1}},
      {{2, 3}, {3, 2}, {1, 0}},
      {{2, 2}, {3, 3}},  // positions outside every window
      {{1, 1}, {2, 2}},
      {{5, 5}, {1, 1}, {2, 2}},
  };
  for (const Kind kind : {Kind::kMaxPool, Kind::kAveragePool})
    for (const SampleShape shape : {SampleShape{2, 7, 7}, SampleShape{2, 8, 5}})
      for (const PoolSpec& spec : specs) {
        GraphBuilder b(shape);
        check_network(finish(b, b.pool(kind, b.conv(0, 17, {.kernel = {1, 1}}), spec)), {.samples = 4});
      }
  for (const PoolSpec& spec : specs) {  // the pool masks the gradient of the ReLU before it
    GraphBuilder masked({2, 8, 7});
    const int relu = masked.relu(masked.conv(0, 17, {.kernel = {1, 1}}));
    check_network(finish(masked, masked.pool(Kind::kMaxPool, relu, spec)), {.samples = 4});
  }
  GraphBuilder wide({1, 17, 17});  // a window of more positions than fit a byte
  check_network(
      finish(wide, wide.pool(Kind::kMaxPool, wide.conv(0, 3, {.kernel = {1, 1}}), {{16, 16}, {1, 1}})),
      {.samples = 4});
  GraphBuilder b({3, 6, 6});  // on the images
  check_network(finish(b, b.conv(b.pool(Kind::kMaxPool, 0, {}), 4, {.kernel = {2, 2}})), {});
  check_network(finish(b, b.pool(Kind::kMaxPool, b.pool(Kind::kMaxPool, b.conv(0, 3), {{3, 3}, {1, 1}}), {})),
                {});
  check_network(finish(b, b.global_pool(b.relu(b.conv(0, 20)))), {});
  check_network(finish(b, b.global_pool(b.conv(0, 20))), {.batch = 1});
  GraphBuilder one({3, 1, 1});
  check_network(finish(one, one.global_pool(one.conv(0, 5, {.kernel = {1, 1}}))), {});
}

TEST(Gradients, Sums) {
  GraphBuilder b({3, 5, 5});
  const int x = b.conv(0, 20, {.padding = {1, 1}});
  const int y = b.conv(0, 20, {.padding = {1, 1}});
  check_network(finish(b, b.add(x, y)), {});
  check_network(finish(b, b.add(x, x)), {});
  check_network(finish(b, b.add(b.add(b.add(x, y), y), x)), {});
  check_network(finish(b, b.add(b.relu(x), y)), {});
  check_network(finish(b, b.relu(b.add(x, b.relu(b.add(x, x))))), {});
  check_network(
      finish(b, b.add(b.add(b.conv(0, 3, {.padding = {1, 1}}), b.conv(0, 3, {.padding = {1, 1}})), 0)), {});
  // Both parts are read once, and a ReLU changes one of them in place.
  GraphBuilder once({3, 5, 5});
  check_network(finish(once, once.add(once.relu(once.conv(0, 20)), once.conv(0, 20))), {});
  check_network(finish(once, once.add(once.relu(once.norm(once.conv(0, 20))), once.norm(once.conv(0, 20)))),
                {});
  GraphBuilder images({3, 5, 5});
  check_network(finish(images, images.conv(images.add(0, 0), 4)), {});
}

// A batch norm computes the sum that follows it, and the ReLU.
class NormsInSums {
 public:
  explicit NormsInSums(std::int64_t channels) : channels_(channels) {}
  // make(builder, convolution of a node) gives the last node.
  template <typename Make>
  void check(const Make& make, int threads = 1) const {
    GraphBuilder b({3, 4, 3});
    const auto conv = [&](int of) { return b.conv(of, channels_, {.padding = {1, 1}, .bias = false}); };
    check_network(finish(b, make(b, conv)), {.threads = threads, .samples = 3, .node_samples = 2});
  }

 private:
  std::int64_t channels_;
};

TEST(Gradients, NormsInSums) {
  for (const std::int64_t channels : {5, 32}) {
    const NormsInSums net(channels);
    for (const int threads : {1, 3})  // the gradients of both blocks share memory
      net.check(
          [](GraphBuilder& b, const auto& conv) {
            const int x = b.relu(b.norm(conv(0)));
            const int y = b.relu(b.add(b.norm(conv(x)), x));
            return b.relu(b.add(y, b.norm(conv(b.relu(b.norm(conv(y)))))));
          },
          threads);
    net.check([](GraphBuilder& b, const auto& conv) {
      const int x = b.relu(conv(0));
      const int one = b.norm(conv(x)), other = b.norm(conv(x));
      return b.relu(b.add(one, other));
    });
    net.check([](GraphBuilder& b, const auto& conv) {  // the other part is the norm's input
      const int x = conv(0);
      return b.add(b.norm(x), x);
    });
    for (const bool norm_first : {true, false})
      net.check([norm_first](GraphBuilder& b, const auto& conv) {
        const int relu = norm_first ? 0 : b.relu(conv(0));
        const int norm = b.norm(conv(0));
        return b.add(norm, norm_first ? b.relu(conv(0)) : relu);
      });
    net.check([](GraphBuilder& b, const auto& conv) {
      // The convolution in the outer sum keeps its gradient while others send theirs to the inner sum's part.
      const int x = conv(0), branch = conv(x);
      return b.add(b.add(b.norm(conv(x)), x), branch);
    });
    net.check([](GraphBuilder& b, const auto& conv) {  // the other part is read after the sum
      const int x = conv(0), sum = b.add(b.norm(conv(0)), x);
      return b.concat({sum, b.relu(x), b.norm(x)});
    });
    net.check([](GraphBuilder& b, const auto& conv) {  // read twice: it has its own output
      const int norm = b.norm(conv(0));
      return b.relu(b.add(b.add(norm, conv(0)), b.relu(norm)));
    });
  }
}

TEST(Gradients, Concat) {
  GraphBuilder b({3, 5, 5});
  const int x = b.conv(0, 16), y = b.conv(0, 32), odd = b.conv(0, 5), one = b.conv(0, 1);
  check_network(finish(b, b.concat({x, y})), {});
  check_network(finish(b, b.concat({x, odd, y, one})), {});
  check_network(finish(b, b.concat({odd, odd})), {});
  check_network(finish(b, b.concat({x, x, x})), {});
  check_network(finish(b, b.conv(b.concat({0, 0}), 3)), {});
  check_network(finish(b, b.conv(b.concat({0, b.conv(0, 29, {.padding = {1, 1}})}), 3)), {});
  check_network(finish(b, b.conv(b.relu(b.concat({b.relu(x), b.relu(odd)})), 7)), {});
}

TEST(Gradients, Scalars) {
  for (const Kind kind : {Kind::kScalarBias, Kind::kScalarScale}) {
    GraphBuilder b({3, 5, 5});
    check_network(finish(b, b.same(kind, b.conv(0, 20))), {});
    check_network(finish(b, b.relu(b.same(kind, b.conv(0, 20)))), {});
    check_network(finish(b, b.conv(b.same(kind, 0), 4)), {});
    check_network(finish(b, b.same(kind, b.same(kind, b.relu(b.conv(0, 1))))), {});
    const int flat = b.flatten(b.conv(0, 7));
    check_network(finish(b, b.same(kind, flat)), {});
  }
}

TEST(Gradients, Flatten) {
  for (const std::int64_t channels : {1, 16, 19, 32}) {
    GraphBuilder b({2, 5, 4});
    check_network(finish(b, b.flatten(b.conv(0, channels))), {});
    check_network(finish(b, b.flatten(b.flatten(b.relu(b.conv(0, channels))))), {});
  }
  // Flattened images that two layers read.
  GraphBuilder b({2, 5, 4});
  const int flat = b.flatten(0);
  check_network(finish(b, b.add(b.linear(flat, 6), b.linear(b.relu(flat), 6))), {});
}

TEST(Gradients, Dropout) {
  for (const double rate : {0.0, 0.3, 0.9}) {
    GraphBuilder b({3, 5, 5});
    check_network(finish(b, b.dropout(b.conv(0, 20), rate)), {});
    check_network(finish(b, b.relu(b.dropout(b.conv(0, 20), rate))), {});
    check_network(finish(b, b.dropout(b.relu(b.linear(0, 40)), rate)), {});
    check_network(finish(b, b.conv(b.dropout(0, rate), 3)), {});
  }
}

TEST(Gradients, DropoutFollowsItsRateAndSeedAlone) {
  GraphBuilder b({3, 20, 20});
  const int dropped = b.dropout(b.conv(0, 20, {.kernel = {1, 1}}), 0.3);
  const int second = b.dropout(dropped, 0.3);
  b.linear(b.global_pool(second), 3);
  const auto run = [&](int threads, std::uint64_t seed, int node) {
    Network network(b.graph(), {4, Kernels::kDense, threads});
    const Problem problem = draw_problem(b.graph(), 4, 3);
    load(network, problem.parameters);
    network.forward(problem.images.data(), problem.labels.data(), {true, seed});
    return plain(network.activation(node), network.activation(node).data.data());
  };
  const std::vector<float> first = run(1, 5, dropped);
  EXPECT_EQ(first, run(3, 5, dropped));
  EXPECT_NE(first, run(1, 6, dropped));
  const auto zeros = [](const std::vector<float>& values) {
    return static_cast<double>(std::count(values.begin(), values.end(), 0.0F)) /
           static_cast<double>(values.size());
  };
  // 32,000 values: five standard deviations are 0.013.
  EXPECT_NEAR(zeros(first), 0.3, 0.013);
  EXPECT_NEAR(zeros(run(1, 5, second)), 1 - 0.7 * 0.7, 0.014);  // the layers draw independently
}

TEST(Gradients, ThreeReadersOfOneTensor) {
  GraphBuilder b({3, 6, 6});
  const int x = b.relu(b.conv(0, 20, {.padding = {1, 1}}));
  const int one = b.conv(x, 9, {.padding = {1, 1}});
  const int two = b.relu(b.conv(x, 9, {.kernel = {1, 1}, .bias = false}));
  const int three = b.conv(b.norm(x), 9, {.padding = {2, 2}, .dilation = {2, 2}});
  check_both(finish(b, b.global_pool(b.relu(b.add(b.add(one, two), three)))));
}

// A layer without readers gets no gradient: the gradients of its parameters must be zero, not what memory
// held.
TEST(Gradients, LayersThatNobodyReads) {
  GraphBuilder b({3, 6, 6});
  const int x = b.conv(0, 20);
  b.relu(b.conv(x, 5));
  b.linear(b.conv(x, 4), 3);
  Network network(b.graph(), {2, Kernels::kDense, 1});
  const Problem problem = draw_problem(b.graph(), 2, 9);
  load(network, problem.parameters);
  for (Parameter* p : network.parameters())
    for (std::int64_t i = 0; i < p->grad.size(); ++i) p->grad[i] = std::numeric_limits<float>::quiet_NaN();
  network.forward(problem.images.data(), problem.labels.data(), {});
  network.backward();
  std::map<std::string, std::vector<float>> gradients;
  for (const Parameter* p : network.parameters())
    gradients[p->name] = {p->grad.data(), p->grad.data() + p->grad.size()};
  for (const float g : gradients.at("conv2.weight")) ASSERT_EQ(g, 0);  // largest() would not see a NaN
  EXPECT_GT(largest(gradients.at("conv1.weight")), 0);
  EXPECT_GT(largest(gradients.at("conv4.weight")), 0);
}

}  // namespace
}  // namespace lacuna::train::twin
