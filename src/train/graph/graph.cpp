#include "train/graph/graph.hpp"

namespace lacuna::train {

LayerShape Graph::layer_shape(const Node& node, std::int64_t n) const {
  const SampleShape& in = nodes[static_cast<std::size_t>(node.inputs[0])].out;
  if (node.kind == NodeKind::kLinear) return LayerShape::linear(n, in.size(), node.out_channels);
  return LayerShape::conv2d(n, in.c, node.out_channels, {in.h, in.w}, node.kernel, node.stride, node.padding,
                            node.dilation, node.groups);
}

std::int64_t Graph::macs() const {
  std::int64_t sum = 0;
  for (const Node& node : nodes)
    if (is_product(node.kind)) sum += layer_shape(node, 1).macs();
  return sum;
}

std::int64_t Graph::parameters() const {
  std::int64_t sum = 0;
  for (const Node& node : nodes) {
    sum += facts(node.kind).learnt_per_channel * node.out.c + facts(node.kind).learnt;
    if (is_product(node.kind)) sum += layer_shape(node, 1).w_elements() + (node.bias ? node.out_channels : 0);
  }
  return sum;
}

}  // namespace lacuna::train
