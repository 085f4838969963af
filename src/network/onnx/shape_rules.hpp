// Shapes of the tensors of an ONNX graph, inferred node by node from the shapes of its inputs.
#pragma once

#include "network/onnx/onnx_graph.hpp"
#include "tensor/layer_shape.hpp"

namespace lacuna::network {

// Sizes of a Conv, ConvTranspose or pooling node on an input of 3 or 4 dimensions, with a height of 1 for 3.
struct OnnxWindow {
  Size2 kernel, stride, dilation;
  Size2 before{0, 0}, after{0, 0};  // padding at the two ends of each axis

  // Output sizes, rounded up for pooling with ceil_mode.
  Size2 output(Size2 input, bool round_up = false) const;
};

// Reads the window of `node` for an input of `dims`; `kernel` is that of its weights, if it has them. Nothing
// if sizes are open, impossible, or of more than two axes.
std::optional<OnnxWindow> onnx_window(const OnnxNode& node, const std::vector<std::int64_t>& dims,
                                      std::optional<Size2> kernel);
// Height and width of a tensor of 3 or 4 dimensions; nothing if they are open.
std::optional<Size2> onnx_plane(const std::vector<std::int64_t>& dims);

// Returns what is known of the outputs of `node`, one or several; unknown operators give nothing.
std::vector<OnnxTensor> infer_outputs(const OnnxNode& node, const std::vector<const OnnxTensor*>& inputs);

}  // namespace lacuna::network
