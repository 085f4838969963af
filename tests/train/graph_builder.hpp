// Graphs for tests: hand-written, or drawn at random and valid by construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "train/graph/graph.hpp"

namespace lacuna::train::twin {

struct ConvSpec {
  Size2 kernel{3, 3};
  Size2 stride{1, 1};
  Size2 padding{0, 0};
  Size2 dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = true;
};

struct PoolSpec {
  Size2 kernel{2, 2};
  Size2 stride{2, 2};
  Size2 padding{0, 0};
  bool ceil = false;
};

// Each call adds a node and returns its index; shapes are computed, not checked.
class GraphBuilder {
 public:
  explicit GraphBuilder(const SampleShape& input);

  int conv(int input, std::int64_t out, const ConvSpec& spec = {});
  int linear(int input, std::int64_t out, bool bias = true);  // flattens images first
  int pool(NodeKind kind, int input, const PoolSpec& spec);
  int global_pool(int input);
  int same(NodeKind kind, int input);  // batch norm, relu, scalars: the shape stays
  int dropout(int input, double rate);
  int add(int a, int b);
  int concat(const std::vector<int>& inputs);
  int flatten(int input);

  int relu(int input) { return same(NodeKind::kRelu, input); }
  int norm(int input) { return same(NodeKind::kBatchNorm, input); }

  const SampleShape& shape(int node) const { return graph_.nodes[static_cast<std::size_t>(node)].out; }
  int last() const { return static_cast<int>(graph_.nodes.size()) - 1; }
  const Graph& graph() const { return graph_; }

 private:
  int push(Node node);
  Graph graph_;
};

// What the last node depends on.
Graph without_unread(const Graph& graph);
// Returns the nodes that `from` depends on, with a classifier of five classes. A builder may serve several
// networks.
Graph finish(const GraphBuilder& builder, int from);
Graph random_graph(Random& random);
std::string describe(const Graph& graph);

}  // namespace lacuna::train::twin
