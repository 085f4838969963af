// A network as data: nodes in the order they run, shapes known, nothing allocated. The engine (network.hpp)
// builds layers from it; tests build a plain double-precision twin from the same graph.
#pragma once

#include <array>
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

// In the order of NodeKind. A new kind of layer is a value above, a line here and, if it has one input, a
// file in src/train/layers with its line in layers.hpp.
struct NodeKindFacts {
  const char* name;            // in model files, unless it is made from their structure
  bool in_files = true;        // a layer of one input, that a model file names
  int learnt_per_channel = 0;  // numbers; those of kConv and kLinear follow from their shape
  int learnt = 0;
};
inline constexpr std::array<NodeKindFacts, 13> kNodeKinds = {{{"input", false},
                                                              {"conv"},
                                                              {"linear"},
                                                              {"batch_norm", true, 2},
                                                              {"relu"},
                                                              {"max_pool"},
                                                              {"average_pool"},
                                                              {"add", false},
                                                              {"concat", false},
                                                              {"flatten"},
                                                              {"dropout"},
                                                              {"scalar_bias", true, 0, 1},
                                                              {"scalar_scale", true, 0, 1}}};
inline constexpr const NodeKindFacts& facts(NodeKind kind) {
  return kNodeKinds[static_cast<std::size_t>(kind)];
}
inline constexpr const char* node_kind_name(NodeKind kind) { return facts(kind).name; }
// Convolutions and linear layers.
inline constexpr bool is_product(NodeKind kind) {
  return kind == NodeKind::kConv || kind == NodeKind::kLinear;
}

// Initial distribution of weights. Biases start at zero, batch norm at scale 1 and shift 0.
enum class Init {
  kHe,     // normal, variance 2 / fan in [He 2015]
  kHeOut,  // normal, variance 2 / fan out: what ResNets are usually trained from
  kFan,    // uniform in +-sqrt(1 / fan in): PyTorch's default
  kZero,
};

struct Node {
  NodeKind kind = NodeKind::kInput;
  std::string name{};         // unique; parameters are "NAME.weight", "NAME.bias"
  std::vector<int> inputs{};  // earlier nodes
  SampleShape out{};

  // kConv, kLinear; the pools use kernel, stride and padding
  std::int64_t out_channels = 0;
  Size2 kernel{};
  Size2 stride{};
  Size2 padding{0, 0};
  Size2 dilation{};
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
  // Returns the shape of a kConv or kLinear node for a batch of n.
  LayerShape layer_shape(const Node& node, std::int64_t n) const;
  // Counts the multiply-accumulates of one sample's forward pass.
  std::int64_t macs() const;
  std::int64_t parameters() const;
};

}  // namespace lacuna::train
