// The layers, each made for its activations. `in` and `out` outlive the layer.
#pragma once

#include <memory>
#include <vector>

#include "train/layer.hpp"

namespace lacuna::train {

// The output is the norm, plus `other` unless it is null, cut off at zero with `relu`.
std::unique_ptr<Layer> make_batch_norm(const Node& node, Activation& in, Activation* other, Activation& out,
                                       bool relu, int threads);
// In place: `value` is its input and output. With `forward_done` the previous layer has applied it already.
std::unique_ptr<Layer> make_relu(Activation& in, Activation& out, bool forward_done, int threads);
std::unique_ptr<Layer> make_pool(const Node& node, Activation& in, Activation& out, int threads);
std::unique_ptr<Layer> make_add(const std::vector<Activation*>& in, Activation& out, int threads);
std::unique_ptr<Layer> make_concat(const std::vector<Activation*>& in, Activation& out, int threads);
std::unique_ptr<Layer> make_flatten(Activation& in, Activation& out, int threads);
std::unique_ptr<Layer> make_dropout(const Node& node, Activation& in, Activation& out, int threads);
std::unique_ptr<Layer> make_scalar(const Node& node, Activation& in, Activation& out, int threads);

}  // namespace lacuna::train
