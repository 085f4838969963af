// Layers other than convolutions, each made for its activations.
#pragma once

#include <memory>
#include <vector>

#include "train/layers/layer.hpp"

namespace lacuna::train {

// Node, tensors and neighbours of a layer to make. The activations outlive it.
struct LayerParts {
  const Node& node;
  std::vector<Activation*> in;  // a batch norm with two adds the second
  Activation& out;              // a ReLU's may be its input: it runs in place then
  int threads;
  // Work that neighbours in the graph share (fuse.hpp).
  bool relu_follows = false;   // batch norm: cuts its output off at zero
  bool forward_done = false;   // ReLU: by the layer before, which has applied it already
  bool backward_done = false;  // ReLU: by the max pool behind, which masks its gradient
  float* bias_grad = nullptr;  // ReLU: of the layer before: becomes the sums of the gradient per channel
  bool relu_before = false;    // max pool: its gradient is zero where its maximum is
};

std::unique_ptr<Layer> make_batch_norm(const LayerParts& parts);
std::unique_ptr<Layer> make_relu(const LayerParts& parts);
std::unique_ptr<Layer> make_pool(const LayerParts& parts);
std::unique_ptr<Layer> make_add(const LayerParts& parts);
std::unique_ptr<Layer> make_concat(const LayerParts& parts);
std::unique_ptr<Layer> make_flatten(const LayerParts& parts);
std::unique_ptr<Layer> make_dropout(const LayerParts& parts);
std::unique_ptr<Layer> make_scalar(const LayerParts& parts);

struct LayerMaker {
  NodeKind kind;
  std::unique_ptr<Layer> (*make)(const LayerParts&);
};
inline constexpr LayerMaker kLayerMakers[] = {
    {NodeKind::kBatchNorm, make_batch_norm},
    {NodeKind::kRelu, make_relu},
    {NodeKind::kMaxPool, make_pool},
    {NodeKind::kAveragePool, make_pool},
    {NodeKind::kAdd, make_add},
    {NodeKind::kConcat, make_concat},
    {NodeKind::kFlatten, make_flatten},
    {NodeKind::kDropout, make_dropout},
    {NodeKind::kScalarBias, make_scalar},
    {NodeKind::kScalarScale, make_scalar},
};

}  // namespace lacuna::train
