#include "train/graph/graph.hpp"

namespace lacuna::train {

const char* node_kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kInput:
      return "input";
    case NodeKind::kConv:
      return "conv";
    case NodeKind::kLinear:
      return "linear";
    case NodeKind::kBatchNorm:
      return "batch_norm";
    case NodeKind::kRelu:
      return "relu";
    case NodeKind::kMaxPool:
      return "max_pool";
    case NodeKind::kAveragePool:
      return "average_pool";
    case NodeKind::kAdd:
      return "add";
    case NodeKind::kConcat:
      return "concat";
    case NodeKind::kFlatten:
      return "flatten";
    case NodeKind::kDropout:
      return "dropout";
    case NodeKind::kScalarBias:
      return "scalar_bias";
    case NodeKind::kScalarScale:
      break;
  }
  return "scalar_scale";
}

LayerShape Graph::layer_shape(const Node& node, std::int64_t n) const {
  const SampleShape& in = nodes[static_cast<std::size_t>(node.inputs[0])].out;
  if (node.kind == NodeKind::kLinear) return LayerShape::linear(n, in.size(), node.out_channels);
  return LayerShape::conv2d(n, in.c, node.out_channels, {in.h, in.w}, node.kernel, node.stride, node.padding,
                            node.dilation, node.groups);
}

std::int64_t Graph::macs() const {
  std::int64_t sum = 0;
  for (const Node& node : nodes)
    if (node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear) sum += layer_shape(node, 1).macs();
  return sum;
}

std::int64_t Graph::parameters() const {
  std::int64_t sum = 0;
  for (const Node& node : nodes) {
    if (node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear)
      sum += layer_shape(node, 1).w_elements() + (node.bias ? node.out_channels : 0);
    if (node.kind == NodeKind::kBatchNorm) sum += 2 * node.out.c;
    if (node.kind == NodeKind::kScalarBias || node.kind == NodeKind::kScalarScale) ++sum;
  }
  return sum;
}

}  // namespace lacuna::train
