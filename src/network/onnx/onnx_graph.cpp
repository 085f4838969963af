#include "network/onnx/onnx_graph.hpp"

#include <cstring>
#include <fmt/format.h>

#include "base/error.hpp"
#include "network/onnx/wire.hpp"

namespace lacuna::network {
namespace {

constexpr std::size_t kMostParts =
    1 << 17;  // nodes and tensors: a few bytes each in a file, and hundreds here
constexpr std::int64_t kInt32 = 6, kInt64 = 7;  // TensorProto.DataType

void add_dim(std::vector<std::int64_t>& dims, std::int64_t size, const std::string& file) {
  if (dims.size() == kMostDims)
    throw InputError(file, fmt::format("a tensor has more than {} dimensions", kMostDims),
                     "check that it is an ONNX model");
  dims.push_back(size < 0 ? kOpen : size);
}

// TensorProto.
OnnxTensor read_tensor(WireReader fields, const std::string& file, std::string_view* name) {
  OnnxTensor tensor{std::vector<std::int64_t>{}, std::nullopt, true};
  std::int64_t type = 0;
  std::vector<std::int64_t> integers;
  std::string_view raw;
  const auto keep = [&](std::int64_t value) {
    if (integers.size() <= kMostOnnxIntegers) integers.push_back(value);
  };
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        fields.integers([&](std::int64_t size) { add_dim(*tensor.dims, size, file); });
        break;
      case 2:
        type = fields.integer();
        break;
      case 5:
      case 7:
        fields.integers(keep);
        break;
      case 8:
        if (name != nullptr) *name = fields.text();
        break;
      case 9:
        raw = fields.text();
        break;
      default:
        break;
    }
  }
  const std::size_t width = type == kInt64 ? 8 : type == kInt32 ? 4 : 0;
  if (width == 0) return tensor;
  if (raw.size() <= kMostOnnxIntegers * width) {
    for (std::size_t at = 0; at + width <= raw.size(); at += width) {
      std::int64_t wide = 0;
      std::int32_t narrow = 0;
      std::memcpy(width == 8 ? static_cast<void*>(&wide) : static_cast<void*>(&narrow), raw.data() + at,
                  width);
      keep(width == 8 ? wide : narrow);
    }
  }
  std::size_t elements = 1;
  for (const std::int64_t size : *tensor.dims)
    elements = size >= 0 && size <= 64 ? elements * static_cast<std::size_t>(size) : 0;
  if (integers.size() == elements && elements <= kMostOnnxIntegers) tensor.integers = std::move(integers);
  return tensor;
}

// TensorShapeProto.
std::vector<std::int64_t> read_shape(WireReader fields, const std::string& file) {
  std::vector<std::int64_t> dims;
  while (fields.next()) {
    if (fields.field() != 1) continue;
    std::int64_t size = kOpen;
    for (WireReader dim = fields.message(); dim.next();)
      if (dim.field() == 1) size = dim.integer();
    add_dim(dims, size, file);
  }
  return dims;
}

// ValueInfoProto: the shape that the model states for a tensor.
void read_value(WireReader fields, const std::string& file, bool input, OnnxGraph& graph) {
  std::string_view name;
  OnnxTensor tensor;
  while (fields.next()) {
    if (fields.field() == 1) name = fields.text();
    if (fields.field() != 2) continue;
    for (WireReader type = fields.message(); type.next();) {
      if (type.field() != 1) continue;
      for (WireReader dense = type.message(); dense.next();)
        if (dense.field() == 2) tensor.dims = read_shape(dense.message(), file);
    }
  }
  // An open batch is one sample: open sizes cannot be computed with.
  if (input && tensor.dims && !tensor.dims->empty() && tensor.dims->front() == kOpen)
    tensor.dims->front() = 1;
  graph.tensors.emplace(name, std::move(tensor));  // an initializer of the same name stays
}

void read_floats(std::string_view packed, std::vector<float>& out) {
  for (; packed.size() >= sizeof(float) && out.size() < kMostOnnxIntegers;
       packed.remove_prefix(sizeof(float))) {
    float value;
    std::memcpy(&value, packed.data(), sizeof value);
    out.push_back(value);
  }
}

OnnxAttribute read_attribute(WireReader fields, const std::string& file, std::string_view& name) {
  OnnxAttribute attribute;
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        name = fields.text();
        break;
      case 3:
        attribute.integer = fields.integer();
        break;
      case 4:
        attribute.text = fields.text();
        break;
      case 5:
        attribute.tensor = read_tensor(fields.message(), file, nullptr);
        break;
      case 7:
        read_floats(fields.floats(), attribute.reals);
        break;
      case 8:
        fields.integers([&](std::int64_t value) {
          if (attribute.integers.size() < kMostOnnxIntegers) attribute.integers.push_back(value);
        });
        break;
      default:
        break;
    }
  }
  return attribute;
}

OnnxNode read_node(WireReader fields, const std::string& file) {
  OnnxNode node;
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        node.inputs.push_back(fields.text());
        break;
      case 2:
        node.outputs.push_back(fields.text());
        break;
      case 3:
        node.name = fields.text();
        break;
      case 4:
        node.op = fields.text();
        break;
      case 5: {
        std::string_view name;
        OnnxAttribute attribute = read_attribute(fields.message(), file, name);
        node.attributes.insert_or_assign(name, std::move(attribute));
        break;
      }
      default:
        break;
    }
  }
  return node;
}

}  // namespace

std::int64_t OnnxNode::integer(std::string_view key, std::int64_t fallback) const {
  const auto at = attributes.find(key);
  return at == attributes.end() ? fallback : at->second.integer;
}

std::vector<std::int64_t> OnnxNode::integers(std::string_view key) const {
  const auto at = attributes.find(key);
  return at == attributes.end() ? std::vector<std::int64_t>{} : at->second.integers;
}

OnnxGraph parse_onnx_graph(std::span<const std::uint8_t> bytes, const std::string& file) {
  OnnxGraph graph;
  std::vector<std::pair<WireReader, bool>> values;  // and whether it is an input
  std::size_t parts = 0;
  for (WireReader model(bytes, file); model.next();) {
    if (model.field() != 7) continue;  // ModelProto.graph
    for (WireReader fields = model.message(); fields.next();) {
      if (++parts > kMostParts)
        throw InputError(file, "its graph has more than 131072 parts", "check that it is an ONNX model");
      switch (fields.field()) {
        case 1:
          graph.nodes.push_back(read_node(fields.message(), file));
          break;
        case 2:
          graph.name = fields.text();
          break;
        case 5: {
          std::string_view name;
          OnnxTensor tensor = read_tensor(fields.message(), file, &name);
          graph.tensors.insert_or_assign(name, std::move(tensor));
          break;
        }
        case 11:
        case 12:
        case 13:
          values.emplace_back(fields.message(), fields.field() == 11);
          break;
        default:
          break;
      }
    }
  }
  for (const auto& [value, input] : values) read_value(value, file, input, graph);
  if (graph.nodes.empty())
    throw InputError(file, "it does not contain the graph of an ONNX model",
                     "give a .onnx file, as torch.onnx.export() writes it");
  return graph;
}

}  // namespace lacuna::network
