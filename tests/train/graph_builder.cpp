#include "train/graph_builder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace lacuna::train::twin {

GraphBuilder::GraphBuilder(const SampleShape& input) {
  graph_.model = "test";
  graph_.input = input;
  Node node;
  node.name = "input";
  node.out = input;
  graph_.nodes.push_back(node);
}

int GraphBuilder::push(Node node) {
  node.name = node_kind_name(node.kind) + std::to_string(graph_.nodes.size());
  graph_.nodes.push_back(std::move(node));
  return last();
}

int GraphBuilder::conv(int input, std::int64_t out, const ConvSpec& spec) {
  const SampleShape in = shape(input);
  const auto size = [](std::int64_t have, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       std::int64_t dilation) {
    return (have + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  Node node;
  node.kind = NodeKind::kConv;
  node.inputs = {input};
  node.out_channels = out;
  node.kernel = spec.kernel;
  node.stride = spec.stride;
  node.padding = spec.padding;
  node.dilation = spec.dilation;
  node.groups = spec.groups;
  node.bias = spec.bias;
  node.out = {out, size(in.h, spec.kernel.h, spec.stride.h, spec.padding.h, spec.dilation.h),
              size(in.w, spec.kernel.w, spec.stride.w, spec.padding.w, spec.dilation.w)};
  return push(std::move(node));
}

int GraphBuilder::flatten(int input) {
  Node node;
  node.kind = NodeKind::kFlatten;
  node.inputs = {input};
  node.out = {shape(input).size(), 1, 1};
  return push(std::move(node));
}

int GraphBuilder::linear(int input, std::int64_t out, bool bias) {
  if (shape(input).h != 1 || shape(input).w != 1) input = flatten(input);
  Node node;
  node.kind = NodeKind::kLinear;
  node.inputs = {input};
  node.out_channels = out;
  node.bias = bias;
  node.out = {out, 1, 1};
  return push(std::move(node));
}

int GraphBuilder::pool(NodeKind kind, int input, const PoolSpec& spec) {
  const auto size = [&](std::int64_t have, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    const std::int64_t left = have + 2 * padding - kernel;
    std::int64_t count = (left + (spec.ceil ? stride - 1 : 0)) / stride + 1;
    if ((count - 1) * stride >= have + padding) --count;  // the last window has to start inside
    return count;
  };
  const SampleShape in = shape(input);
  Node node;
  node.kind = kind;
  node.inputs = {input};
  node.kernel = spec.kernel;
  node.stride = spec.stride;
  node.padding = spec.padding;
  node.out = {in.c, size(in.h, spec.kernel.h, spec.stride.h, spec.padding.h),
              size(in.w, spec.kernel.w, spec.stride.w, spec.padding.w)};
  return push(std::move(node));
}

int GraphBuilder::global_pool(int input) {
  const SampleShape in = shape(input);
  return pool(NodeKind::kAveragePool, input, {{in.h, in.w}, {in.h, in.w}});
}

int GraphBuilder::same(NodeKind kind, int input) {
  Node node;
  node.kind = kind;
  node.inputs = {input};
  node.out = shape(input);
  return push(std::move(node));
}

int GraphBuilder::dropout(int input, double rate) {
  const int made = same(NodeKind::kDropout, input);
  graph_.nodes.back().rate = rate;
  return made;
}

int GraphBuilder::add(int a, int b) {
  const int made = same(NodeKind::kAdd, a);
  graph_.nodes.back().inputs = {a, b};
  return made;
}

int GraphBuilder::concat(const std::vector<int>& inputs) {
  const int made = same(NodeKind::kConcat, inputs[0]);
  graph_.nodes.back().inputs = inputs;
  graph_.nodes.back().out.c = 0;
  for (const int input : inputs) graph_.nodes.back().out.c += shape(input).c;
  return made;
}

namespace {

class RandomGraph {
 public:
  explicit RandomGraph(Random& random)
      : random_(random), builder_({draw({1, 2, 3, 16, 17}), draw({1, 2, 5, 7, 8}), draw({1, 3, 5, 8})}) {}

  Graph make() {
    const std::int64_t layers = random_.integer(3, 12);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    // Every tensor without a reader ends in the logits.
    std::set<int> unread;
    for (int i = 0; i <= builder_.last(); ++i) unread.insert(i);
    for (const Node& node : builder_.graph().nodes)
      for (const int input : node.inputs) unread.erase(input);
    std::vector<int> ends;
    ends.reserve(unread.size());
    for (const int node : unread)
      ends.push_back(random_.chance(0.5) ? builder_.global_pool(node) : builder_.flatten(node));
    builder_.linear(ends.size() > 1 ? builder_.concat(ends) : ends[0], random_.integer(2, 18),
                    random_.chance(0.8));
    return builder_.graph();
  }

 private:
  std::int64_t draw(const std::vector<std::int64_t>& from) {
    return from[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  Size2 draw2(const std::vector<std::int64_t>& from) {
    const std::int64_t first = draw(from);
    return random_.chance(0.7) ? Size2{first, first} : Size2{first, draw(from)};
  }
  // Mostly the newest tensor, so that networks are deep; sometimes any, so that tensors have many readers.
  int any() {
    return random_.chance(0.65) ? builder_.last() : static_cast<int>(random_.integer(0, builder_.last()));
  }

  void add_layer() {
    const int input = any();
    switch (random_.integer(0, 12)) {
      case 0:
      case 1:
      case 2:
        add_conv(input);
        break;
      case 3:
        // One value per channel has no variance.
        if (builder_.shape(input).h * builder_.shape(input).w > 2) builder_.norm(input);
        break;
      case 4:
      case 5:
        builder_.relu(input);
        break;
      case 6:
        add_pool(NodeKind::kMaxPool, input);
        break;
      case 7:
        add_pool(NodeKind::kAveragePool, input);
        break;
      case 8:
        builder_.add(input, partner(input, true));
        break;
      case 9:
        add_concat(input);
        break;
      case 10:
        builder_.dropout(input, 0.3);
        break;
      case 11:
        builder_.same(NodeKind::kScalarBias, input);
        break;
      default:
        builder_.same(NodeKind::kScalarScale, input);
    }
  }

  // Another tensor that can be added to (or joined with) this one; itself where there is no other.
  int partner(int input, bool channels_too) {
    std::vector<std::int64_t> fitting;
    for (int i = 0; i <= builder_.last(); ++i) {
      const SampleShape &a = builder_.shape(i), &b = builder_.shape(input);
      if (a.h == b.h && a.w == b.w && (!channels_too || a.c == b.c)) fitting.push_back(i);
    }
    return static_cast<int>(draw(fitting));
  }

  void add_concat(int input) {
    std::vector<int> parts = {input};
    const std::int64_t count = random_.integer(2, 3);
    while (static_cast<std::int64_t>(parts.size()) < count) parts.push_back(partner(input, false));
    std::int64_t channels = 0;
    for (const int part : parts) channels += builder_.shape(part).c;
    if (channels <= 64) builder_.concat(parts);
  }

  void add_conv(int input) {
    const SampleShape in = builder_.shape(input);
    ConvSpec spec;
    spec.kernel = draw2({1, 2, 3, 3, 5});
    spec.stride = draw2({1, 1, 2, 3});
    spec.padding = draw2({0, 1, 1, 2});
    spec.dilation = draw2({1, 1, 2});
    spec.bias = random_.chance(0.6);
    const auto fits = [](std::int64_t have, std::int64_t kernel, std::int64_t padding,
                         std::int64_t dilation) { return have + 2 * padding >= dilation * (kernel - 1) + 1; };
    if (!fits(in.h, spec.kernel.h, spec.padding.h, spec.dilation.h) ||
        !fits(in.w, spec.kernel.w, spec.padding.w, spec.dilation.w))
      spec.kernel = {1, 1};
    if (random_.chance(0.3)) {
      std::vector<std::int64_t> divisors;
      for (std::int64_t g = 1; g <= in.c; ++g)
        if (in.c % g == 0) divisors.push_back(g);
      spec.groups = draw(divisors);
    }
    const std::int64_t out =
        spec.groups > 1 ? spec.groups * random_.integer(1, std::max<std::int64_t>(1, 32 / spec.groups))
                        : draw({1, 3, 8, 16, 17, 20, 32});
    builder_.conv(input, out, spec);
  }

  void add_pool(NodeKind kind, int input) {
    const SampleShape in = builder_.shape(input);
    PoolSpec spec;
    spec.kernel = draw2({1, 2, 2, 3});
    spec.kernel = {std::min(spec.kernel.h, in.h), std::min(spec.kernel.w, in.w)};
    spec.stride = draw2({1, 2, 3});
    if (random_.chance(0.4))
      spec.padding = {random_.integer(0, spec.kernel.h / 2), random_.integer(0, spec.kernel.w / 2)};
    spec.ceil = random_.chance(0.4);
    builder_.pool(kind, input, spec);
  }

  Random& random_;
  GraphBuilder builder_;
};

}  // namespace

Graph without_unread(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size());
  needed.front() = needed.back() = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    for (const int input : graph.nodes[i].inputs)
      if (needed[i]) needed[static_cast<std::size_t>(input)] = true;
  Graph kept = graph;
  kept.nodes.clear();
  std::vector<int> index(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    index[i] = static_cast<int>(kept.nodes.size());
    kept.nodes.push_back(graph.nodes[i]);
    for (int& input : kept.nodes.back().inputs) input = index[static_cast<std::size_t>(input)];
  }
  return kept;
}

Graph finish(const GraphBuilder& builder, int from) {
  GraphBuilder whole = builder;
  whole.linear(from, 5);
  return without_unread(whole.graph());
}

Graph random_graph(Random& random) { return RandomGraph(random).make(); }

std::string describe(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += fmt::format("{} [{}, {}, {}] of ({})", node.name, node.out.c, node.out.h, node.out.w,
                        fmt::join(node.inputs, ", "));
    if (node.kind == NodeKind::kConv || node.kind == NodeKind::kMaxPool ||
        node.kind == NodeKind::kAveragePool)
      text += fmt::format(" kernel {}x{} stride {}x{} padding {}x{} dilation {}x{} groups {}", node.kernel.h,
                          node.kernel.w, node.stride.h, node.stride.w, node.padding.h, node.padding.w,
                          node.dilation.h, node.dilation.w, node.groups);
    text += "; ";
  }
  return text;
}

}  // namespace lacuna::train::twin
