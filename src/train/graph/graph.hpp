// A network as data: nodes in the order they run, shapes known, nothing allocated. The engine (network.hpp)
// builds layers from it; tests build a plain double-precision twin from the same graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna::train {

// One sample of a tensor.
struct SampleShape {
  std::int64_t c = 1;
  std::int64_t h = 1;
  std::int64_t w = 1;
  std::int64_t size() const { return c * h * w; }
  bool operator==(const SampleShape&) const = default;
};

enum class NodeKind {
  kInput,        // node 0 only
  kConv,         // weights [out_channels, in / groups, kernel.h, kernel.w], optional bias per channel
  kLinear,       // of all features of a sample; weights [out_channels, in]; bias
  kBatchNorm,    // over n, h, w; scale and shift per channel; running mean and variance
  kRelu,         // max(x, 0)
  kMaxPool,      // borders count as minus infinity
  kAveragePool,  // over the positions inside the image
  kAdd,          // sum of two inputs
  kConcat,       // inputs one after another along the channels
  kFlatten,      // features in the order c, h, w
  kDropout,      // training: zero with probability `rate`, else x / (1 - rate); testing: x
  kScalarBias,   // x + one learnt number [Fixup]
  kScalarScale,  // x * one learnt number [Fixup]
};
const char* node_kind_name(NodeKind kind);

// How weights start. Biases start at zero, batch norm at scale 1 and shift 0.
enum class Init {
  kHe,     // normal, variance 2 / fan in [He 2015]
  kHeOut,  // normal, variance 2 / fan out: what ResNets are usually trained from
  kFan,    // uniform in +-sqrt(1 / fan in): PyTorch's default
  kZero,
};

struct Node {
  NodeKind kind = NodeKind::kInput;
  std::string name;         // unique; parameters are "NAME.weight", "NAME.bias"
  std::vector<int> inputs;  // earlier nodes
  SampleShape out;

  // kConv, kLinear; the pools use kernel, stride and padding
  std::int64_t out_channels = 0;
  Size2 kernel;
  Size2 stride;
  Size2 padding{0, 0};
  Size2 dilation;
  std::int64_t groups = 1;
  bool bias = true;
  Init init = Init::kHe;
  double gain = 1;  // the drawn weights are multiplied by it
  double rate = 0;  // kDropout
};

struct Graph {
  std::string model;
  SampleShape input;
  std::vector<Node> nodes;  // nodes.back() gives the logits: classes x 1 x 1

  std::int64_t classes() const { return nodes.back().out.c; }
  // The shape of a kConv or kLinear node for a batch of n.
  LayerShape layer_shape(const Node& node, std::int64_t n) const;
  // Multiply-accumulates of one sample's forward pass.
  std::int64_t macs() const;
  std::int64_t parameters() const;
};

}  // namespace lacuna::train
