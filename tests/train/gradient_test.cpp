// Every kind of layer alone, small whole networks and random ones: outputs and gradients of the engine
// against the double-precision twin.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

#include "train/gradient_check.hpp"
#include "train/graph_builder.hpp"
#include "train/model_file.hpp"

namespace lacuna::train::twin {
namespace {

using Kind = NodeKind;

// A builder may serve several networks: each is what `from` depends on, and a classifier.
Graph finish(const GraphBuilder& builder, int from) {
  GraphBuilder whole = builder;
  whole.linear(from, 5);
  return without_unread(whole.graph());
}

// The convolution second, so that its input has a gradient.
Graph conv_net(const SampleShape& input, std::int64_t middle, std::int64_t out, const ConvSpec& spec) {
  GraphBuilder b(input);
  const int first = b.conv(0, middle, {.kernel = {1, 1}});
  return finish(b, b.conv(first, out, spec));
}

// With both dense and zero-skipping kernels.
void check_both(const Graph& graph, CheckOptions options = {}) {
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    options.kernels = kernels;
    check_network(graph, options);
  }
}

TEST(Gradients, Convolutions) {
  check_both(conv_net({3, 5, 5}, 16, 16, {.padding = {1, 1}}));
  check_both(conv_net({1, 7, 5}, 1, 1, {}));
  check_both(conv_net({2, 7, 7}, 20, 17, {.stride = {2, 2}, .padding = {1, 1}}));
  check_both(conv_net({2, 8, 8}, 17, 3, {.stride = {3, 3}}));  // 8 - 3 is no multiple of 3
  check_both(conv_net({2, 8, 7}, 5, 33, {.kernel = {1, 1}, .stride = {2, 2}}));
  check_both(conv_net({2, 11, 11}, 7, 16, {.kernel = {5, 5}, .stride = {2, 2}, .padding = {2, 2}}));
  check_both(conv_net({2, 9, 9}, 16, 16, {.padding = {2, 2}, .dilation = {2, 2}}));
  check_both(conv_net({2, 11, 7}, 5, 6,
                      {.kernel = {3, 2}, .stride = {1, 2}, .padding = {0, 1}, .dilation = {3, 1}}));
  check_both(conv_net({2, 5, 5}, 16, 16, {.kernel = {1, 1}, .padding = {1, 1}}));  // outputs of borders alone
  check_both(conv_net({2, 3, 3}, 16, 8, {.kernel = {7, 7}, .padding = {3, 3}}));   // larger than its input
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
      {{2, 2}, {3, 3}},  // positions that no window sees
      {{1, 1}, {2, 2}},
      {{5, 5}, {1, 1}, {2, 2}},
  };
  for (const Kind kind : {Kind::kMaxPool, Kind::kAveragePool})
    for (const SampleShape shape : {SampleShape{2, 7, 7}, SampleShape{2, 8, 5}})
      for (const PoolSpec& spec : specs) {
        GraphBuilder b(shape);
        check_network(finish(b, b.pool(kind, b.conv(0, 17, {.kernel = {1, 1}}), spec)), {.samples = 4});
      }
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
  // Both parts are read once and one of them is cut in place.
  GraphBuilder once({3, 5, 5});
  check_network(finish(once, once.add(once.relu(once.conv(0, 20)), once.conv(0, 20))), {});
  check_network(finish(once, once.add(once.relu(once.norm(once.conv(0, 20))), once.norm(once.conv(0, 20)))),
                {});
  GraphBuilder images({3, 5, 5});
  check_network(finish(images, images.conv(images.add(0, 0), 4)), {});
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
  EXPECT_NEAR(zeros(run(1, 5, second)), 1 - 0.7 * 0.7, 0.014);  // the layers draw apart
}

TEST(Gradients, ThreeReadersOfOneTensor) {
  GraphBuilder b({3, 6, 6});
  const int x = b.relu(b.conv(0, 20, {.padding = {1, 1}}));
  const int one = b.conv(x, 9, {.padding = {1, 1}});
  const int two = b.relu(b.conv(x, 9, {.kernel = {1, 1}, .bias = false}));
  const int three = b.conv(b.norm(x), 9, {.padding = {2, 2}, .dilation = {2, 2}});
  check_both(finish(b, b.global_pool(b.relu(b.add(b.add(one, two), three)))));
}

TEST(Gradients, LayersThatNobodyReads) {
  GraphBuilder b({3, 6, 6});
  const int x = b.conv(0, 20);
  b.relu(b.conv(x, 5));
  const int end = b.conv(x, 4);
  GraphBuilder with_end = b;
  with_end.linear(end, 3);
  Network network(with_end.graph(), {2, Kernels::kDense, 1});
  const Problem problem = draw_problem(with_end.graph(), 2, 9);
  load(network, problem.parameters);
  network.forward(problem.images.data(), problem.labels.data(), {});
  network.backward();
  for (const Parameter* p : network.parameters())
    for (std::int64_t i = 0; p->name == "conv2.weight" && i < p->grad.size(); ++i) ASSERT_EQ(p->grad[i], 0);
}

// --- whole networks, from their description
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

// 17 MB a tensor: oneDNN's batch norm goes in parts over what is larger than caches. Nothing here has an
// edge, so that any batch will do.
TEST(WholeNetworks, LargeTensors) {
  GraphBuilder b({2, 64, 64});
  const int norm = b.norm(b.conv(0, 20, {.kernel = {1, 1}, .bias = false}));
  const int pooled = b.pool(Kind::kAveragePool, norm, {{16, 16}, {16, 16}});
  check_network(finish(b, pooled), {.batch = 32, .threads = 2, .samples = 1, .node_samples = 1});
}

TEST(WholeNetworks, ManyClasses) {
  GraphBuilder b({3, 4, 4});
  b.linear(b.conv(0, 6), 1003);
  check_both(b.graph());
}

// Softmax of logits whose exponentials single precision cannot hold.
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

// Images past `used` count neither in the loss nor in its gradient.
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

void check_random_graphs(std::uint64_t first, std::uint64_t count) {
  Probes all;
  std::uint64_t unsettled = 0;
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random);
    CheckOptions options;
    options.batch = random.integer(1, 4);
    options.kernels = seed % 2 == 0 ? Kernels::kDense : Kernels::kSparse;
    options.threads = random.chance(0.9) ? 1 : static_cast<int>(random.integer(2, 3));
    options.seed = seed;
    options.samples = 2;
    options.node_samples = 1;
    options.noise = 2e-5;  // the worst of 120,000 derivatives of 3,000 graphs was 1.02e-5
    const Probes probes = probe_network(graph, options);
    all.made += probes.made;
    all.skipped += probes.skipped;
    if (!probes.settled) ++unsettled;
  }
  EXPECT_GE(all.made, 1000);
  EXPECT_LE(unsettled, count / 20);
  EXPECT_LE(all.skipped, all.made / 20) << "of " << all.made;
}

TEST(RandomGraphs, FirstHundred) { check_random_graphs(1, 100); }
TEST(RandomGraphs, SecondHundred) { check_random_graphs(101, 100); }
TEST(RandomGraphs, ThirdHundred) { check_random_graphs(201, 100); }

// LACUNA_RANDOM_GRAPHS=N draws N more.
TEST(RandomGraphs, More) {
  const char* more = std::getenv("LACUNA_RANDOM_GRAPHS");
  if (more == nullptr) GTEST_SKIP() << "set LACUNA_RANDOM_GRAPHS to a number of graphs";
  check_random_graphs(1001, std::stoull(more));
}

}  // namespace
}  // namespace lacuna::train::twin
