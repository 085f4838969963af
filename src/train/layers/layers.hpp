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
std::unique_ptr<Layer> make_add(const std::vector<Activation*>& in, Activation& out, int threads);
std::unique_ptr<Layer> make_concat(const std::vector<Activation*>& in, Activation& out, int threads);
std::unique_ptr<Layer> make_flatten(Activation& in, Activation& out, int threads);
std::unique_ptr<Layer> make_dropout(const Node& node, Activation& in, Activation& out, int threads);
std::unique_ptr<Layer> make_scalar(const Node& node, Activation& in, Activation& out, int threads);

}  // namespace lacuna::train
