// The layers, each made for its activations. `in` and `out` outlive the layer.
#pragma once

#include <memory>
#include <vector>

#include "train/layers/layer.hpp"

namespace lacuna::train {

// The output is the norm, plus `other` unless it is null, cut off at zero with `relu`.
std::unique_ptr<Layer> make_batch_norm(const Node& node, Activation& in, Activation* other, Activation& out,
                                       bool relu, int threads);
struct ReluOptions {
  bool forward_done = false;   // by the layer before, which has applied it already
  bool backward_done = false;  // by the max pool behind, which masks its gradient
  float* bias_grad = nullptr;  // of the layer before: becomes the sums of the gradient per channel
};
// In place where `in` is `out`.
std::unique_ptr<Layer> make_relu(Activation& in, Activation& out, const ReluOptions& options, int threads);
// With `positive`, a max pool's gradient is zero where its maximum is: a ReLU comes before.
std::unique_ptr<Layer> make_pool(const Node& node, Activation& in, Activation& out, bool positive,
                                 int threads);

// A layer without anything of the above: its node, inputs, output and threads.
struct LayerParts {
  const Node& node;
  const std::vector<Activation*>& in;
  Activation& out;
  int threads;
};
using MakeLayer = std::unique_ptr<Layer> (*)(const LayerParts&);
std::unique_ptr<Layer> make_add(const LayerParts& parts);
std::unique_ptr<Layer> make_concat(const LayerParts& parts);
std::unique_ptr<Layer> make_flatten(const LayerParts& parts);
std::unique_ptr<Layer> make_dropout(const LayerParts& parts);
std::unique_ptr<Layer> make_scalar(const LayerParts& parts);

struct LayerMaker {
  NodeKind kind;
  MakeLayer make;
};
inline constexpr LayerMaker kLayerMakers[] = {
    {NodeKind::kAdd, make_add},           {NodeKind::kConcat, make_concat},
    {NodeKind::kFlatten, make_flatten},   {NodeKind::kDropout, make_dropout},
    {NodeKind::kScalarBias, make_scalar}, {NodeKind::kScalarScale, make_scalar},
};

}  // namespace lacuna::train
