#include "reproduce/trace_sources.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <vector>

#include "base/random.hpp"
#include "reproduce/networks.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna::reproduce {
namespace {

constexpr std::string_view kRandom = "random:", kUniform = "uniform:", kMoved = "moved:";

// [TensorDash §4.4, Fig. 20]: the third convolution of DenseNet-121, 3x3, 128 to 32 channels.
Trace random_layer(double zeros, std::uint64_t seed) {
  SyntheticSpec spec;
  spec.seed = seed;
  // The first layer of a network has no input gradient: one MAC stands before this one.
  spec.layers.push_back(
      {"first", LayerShape::linear(1, 1, 1), 1, ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense()});
  spec.layers.push_back({"conv3", LayerShape::conv2d(1, 128, 32, {56, 56}, {3, 3}, {1, 1}, {1, 1}), 1,
                         ZeroSpec::uniform(zeros), ZeroSpec::dense(), ZeroSpec::uniform(zeros)});
  return make_synthetic(spec);
}

Trace uniform_network(const std::string& network, int size) {
  constexpr double kZeros = 0.9;
  SyntheticSpec spec;
  spec.name = network;
  spec.batch = 64;  // weights move once per batch
  for (const LayerShape& shape : network_layers(network, size)) {
    spec.layers.push_back({fmt::format("layer{}", spec.layers.size()), shape, 1, ZeroSpec::uniform(kZeros),
                           ZeroSpec::uniform(kZeros), ZeroSpec::uniform(kZeros)});
  }
  return make_synthetic(spec);
}

std::vector<bool> moved(const LayerTensor& tensor, Random& random) {
  const MaskView& mask = tensor.mask;
  std::vector<bool> bits;
  bits.reserve(static_cast<std::size_t>(tensor.elements()));
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    for (std::int64_t c = 0; c < mask.channels; ++c) bits.push_back(mask.bit(r, c));
  }
  for (std::int64_t i = tensor.elements() - 1; i > 0; --i) {
    std::vector<bool>::swap(bits[static_cast<std::size_t>(i)],
                            bits[static_cast<std::size_t>(random.integer(0, i))]);
  }
  return bits;
}

// "a:b:c" -> what follows the first colon, split.
std::pair<std::string, std::string> arguments(const std::string& name) {
  const std::size_t first = name.find(':'), second = name.find(':', first + 1);
  return {name.substr(first + 1, second - first - 1), name.substr(second + 1)};
}

}  // namespace

Trace with_moved_nonzeros(const Trace& trace) {
  Random random(1);
  TraceBuilder builder(trace.path());
  for (const Layer& layer : trace.layers()) {
    builder.add_layer(layer.name, layer.shape, layer.steps)
        .mask(Operand::kA, moved(layer.a, random))
        .mask(Operand::kG, moved(layer.g, random))
        .mask(Operand::kW, moved(layer.w, random));
  }
  return builder.build();
}

Trace open_source(const std::string& name, const DataFolder& data) {
  if (name.starts_with(kMoved)) return with_moved_nonzeros(data.open(recorded_part(name)));
  if (name.starts_with(kRandom)) {
    const auto [zeros, seed] = arguments(name);
    return random_layer(std::strtod(zeros.c_str(), nullptr), std::strtoull(seed.c_str(), nullptr, 10));
  }
  if (name.starts_with(kUniform)) {
    const auto [network, size] = arguments(name);
    return uniform_network(network, std::atoi(size.c_str()));
  }
  return data.open(name);
}

double trace_weight(const std::string& name, const DataFolder& data) {
  constexpr double kByte = 1e-6;
  if (name.starts_with(kRandom)) return 0.3;
  if (name.starts_with(kUniform)) return arguments(name).second == "224" ? 1.5 : 0.4;
  return 0.1 + data.bytes(recorded_part(name)) * kByte;
}

std::string recorded_part(const std::string& name) {
  if (name.starts_with(kMoved)) return name.substr(kMoved.size());
  return name.find(':') == std::string::npos ? name : "";
}

}  // namespace lacuna::reproduce
