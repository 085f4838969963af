#include "train/graph/discarded.hpp"

#include <algorithm>

namespace lacuna::train {

bool discards_gradient_of_zeros(const Graph& graph, int node) {
  const Node& one = graph.nodes[static_cast<std::size_t>(node)];
  switch (one.kind) {
    case NodeKind::kRelu:
      return true;
    case NodeKind::kDropout:  // where it makes a zero itself, it discards the gradient itself
    case NodeKind::kMaxPool:  // the largest of values that are not negative is zero if all are
    case NodeKind::kFlatten:
    case NodeKind::kConcat:
    case NodeKind::kAdd:  // so is their sum
      return std::ranges::all_of(one.inputs,
                                 [&](int input) { return discards_gradient_of_zeros(graph, input); });
    default:  // a mean may underflow to zero
      return false;
  }
}

}  // namespace lacuna::train
