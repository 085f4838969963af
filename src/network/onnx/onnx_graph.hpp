// Parts of an ONNX model that shapes depend on: its nodes, the shapes of its tensors, and small integer
// constants [onnx.proto, ModelProto].
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::network {

// A size that the model leaves open, or that is not known: not -1, which a Reshape may ask for.
inline constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::min();

// A tensor has at most this many dimensions. More do not follow from any rule, so that shapes that are
// computed from each other cannot grow without end.
inline constexpr std::size_t kMostDims = 16;

// Constants with more elements are weights, whose values nobody asks for.
inline constexpr std::size_t kMostOnnxIntegers = 64;

// As far as it is known: the shape of a tensor, and its elements if they are a few integers.
struct OnnxTensor {
  std::optional<std::vector<std::int64_t>> dims;
  std::optional<std::vector<std::int64_t>> integers;
  bool constant = false;  // a weight or another constant of the model
};

struct OnnxAttribute {
  std::int64_t integer = 0;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::string_view text;
  OnnxTensor tensor;
};

struct OnnxNode {
  std::string_view name, op;
  std::vector<std::string_view> inputs, outputs;
  std::map<std::string_view, OnnxAttribute> attributes;

  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  // Empty if absent.
  std::vector<std::int64_t> integers(std::string_view key) const;
};

// Views point into the file's bytes.
struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::map<std::string_view, OnnxTensor> tensors;  // inputs, initializers, and shapes that the file states
};

// Throws InputError; `file` starts the message.
OnnxGraph parse_onnx_graph(std::span<const std::uint8_t> bytes, const std::string& file);

}  // namespace lacuna::network
