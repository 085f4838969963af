#include "reproduce/trace_sources.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "reproduce/inference_networks.hpp"
#include "reproduce/networks.hpp"
#include "sim/workload/potential.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/synthetic/zeros_file.hpp"
#include "trace/synthetic/zeros_like.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna::reproduce {
namespace {

// "half:0:alexnet_p100" -> "half", {"0", "alexnet_p100"}.
struct SourceName {
  explicit SourceName(const std::string& name) {
    std::size_t at = 0;
    for (std::size_t colon = name.find(':'); colon != std::string::npos; colon = name.find(':', at)) {
      words.push_back(name.substr(at, colon - at));
      at = colon + 1;
    }
    words.push_back(name.substr(at));
  }
  std::string kind() const { return words.size() == 1 ? "" : words[0]; }
  const std::string& last() const { return words.back(); }
  // What stands behind the first `count` words: the source that this one is made from.
  std::string after(std::size_t count) const {
    std::string rest = words.at(count);
    for (std::size_t i = count + 1; i < words.size(); ++i) rest += ":" + words[i];
    return rest;
  }
  double number(std::size_t i) const { return std::strtod(words.at(i).c_str(), nullptr); }
  std::uint64_t seed(std::size_t i) const { return std::strtoull(words.at(i).c_str(), nullptr, 10); }

  std::vector<std::string> words;
};

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

Trace uniform_network(const std::string& network, int size, std::uint64_t seed) {
  constexpr double kZeros = 0.9;
  SyntheticSpec spec;
  spec.name = network;
  spec.seed = seed;
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

// Copies a tensor of a layer, or rows of it; nothing where it has no zeros, but A_forward.
void copy_rows(const Layer& layer, TraceTensor which, std::int64_t first, std::int64_t rows,
               TraceBuilder& builder) {
  const MaskView& mask = which.of(layer)->mask;
  if (mask.no_zeros() && !which.forward) return;
  const std::int64_t row_bytes = mask.readable_bytes();
  std::uint8_t* bytes = builder.allocate(rows * row_bytes);
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(bytes + r * row_bytes, mask.row(first + r), static_cast<std::size_t>(row_bytes));
  builder.adopt_mask(which, bytes);
}

// Half of the samples of each layer. A matrix stays whole if its half would leave lanes of its weight
// gradient empty, which takes 16 rows at a time.
Trace half_of(const Trace& trace, std::int64_t half) {
  constexpr std::int64_t kLanes = 16;
  TraceBuilder builder(trace.path());
  builder.info() = trace.info();
  builder.info().batch = trace.batch();
  for (const Layer& layer : trace.layers()) {
    LayerShape shape = layer.shape;
    const bool halved = shape.is_matrix()
                            ? shape.kind == LayerKind::kLinear && shape.sequence == 1 &&
                                  shape.n % (2 * kLanes) == 0 && shape.n % (2 * layer.steps) == 0
                            : shape.n % 2 == 0;
    if (halved) shape.n /= 2;
    builder.add_layer(layer.name, shape, layer.steps);
    for (const TraceTensor which : kTraceTensors) {
      if (which.of(layer) == nullptr) continue;
      const std::int64_t all = which.of(layer)->mask.rows;
      const std::int64_t rows = halved && which.operand != Operand::kW ? all / 2 : all;
      copy_rows(layer, which, rows < all ? half * rows : 0, rows, builder);
    }
  }
  return builder.build();
}

// 1x1 convolutions as products of matrices with a row per position, which their tensors already are.
Trace by_positions(const Trace& trace) {
  TraceBuilder builder(trace.path());
  builder.info() = trace.info();
  builder.info().batch = trace.batch();
  for (const Layer& layer : trace.layers()) {
    const LayerShape& shape = layer.shape;
    const bool pointwise = shape.kind == LayerKind::kConv2d && shape.taps() == 1 && shape.groups == 1 &&
                           shape.input == shape.output;
    if (pointwise) {
      const std::int64_t positions = shape.output.h * shape.output.w;
      builder.add_layer(layer.name, LayerShape::linear(shape.n * positions, shape.c, shape.k), positions);
    } else {
      builder.add_layer(layer.name, shape, layer.steps);
    }
    for (const TraceTensor which : kTraceTensors)
      if (which.of(layer) != nullptr) copy_rows(layer, which, 0, which.of(layer)->mask.rows, builder);
  }
  return builder.build();
}

// The potential of [TensorDash Fig. 1] that masks are drawn to: its mean, or the least that any model has.
double potential_of_paper(const std::string& variant) { return variant == "least" ? 1.5 : 3; }

// The share of zeros that gives a network a potential if all tensors but the image have it. What borders of
// images leave out counts as skipped, as it does in the figure.
double share_for(const Trace& trace, double wanted) {
  SyntheticSpec dense;
  dense.info = trace.info();
  for (const Layer& layer : trace.layers()) {
    dense.layers.push_back(
        {layer.name, layer.shape, layer.steps, ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense()});
  }
  const TracePotential potential = trace_potential(make_synthetic(dense));
  const LayerPotential& first = potential.layers.front();
  const double image = first.ops.front().macs.remaining * first.batch_scale;
  const Potential& all = potential.per_batch.all;
  return 1 - (all.macs / wanted - image) / (all.remaining - image);
}

// The layers of a trace with drawn zeros in A and G; the image and the weights stay. A_forward is left out.
Trace drawn(const Trace& trace, const std::string& variant, std::uint64_t seed) {
  // Factor of zeros : non-zeros that brings the mean potential of the eight traces to 3x (figure fig13, table
  // gap).
  constexpr double kMoreZeros = 1.3;
  const double share = share_for(trace, potential_of_paper(variant));
  SyntheticSpec spec;
  spec.name = trace.path();
  spec.seed = seed;
  spec.info = trace.info();
  spec.info->batch = trace.batch();
  for (const Layer& layer : trace.layers()) {
    const auto zeros_of = [&](Operand role) {
      const LayerTensor& tensor = layer.tensor(role);
      const bool image = role == Operand::kA && &layer == &trace.layers().front();
      if (role == Operand::kW || image)
        return variant == "own" || variant == "level" ? ZeroSpec::recorded(tensor.mask) : ZeroSpec::dense();
      if (variant == "uniform") return ZeroSpec::uniform(share);
      double zeros = share;
      if (variant != "paper" && variant != "least") {
        const double more = variant == "level" ? kMoreZeros : 1;
        zeros = more * tensor.zero_share() / (1 + (more - 1) * tensor.zero_share());
      }
      return ZeroSpec::clustered(zeros, measure_clustering(tensor.mask, rows_of_image(layer.shape, role)));
    };
    spec.layers.push_back({layer.name, layer.shape, layer.steps, zeros_of(Operand::kA), zeros_of(Operand::kW),
                           zeros_of(Operand::kG)});
  }
  return make_synthetic(spec);
}

// The layers of ResNet-34, called as in torchvision, with zeros that cluster as those of `relative` do; the
// shortcut of a stage comes before its first block.
Trace resnet34_like(const Trace& relative) {
  SyntheticSpec spec;
  spec.name = "resnet34";
  spec.batch = 64;
  std::vector<std::string> names{"conv1"};
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 1; stage <= 4; ++stage) {
    for (int block = 0; block < kBlocks[stage - 1]; ++block) {
      const std::string name = fmt::format("layer{}.{}.", stage, block);
      if (stage > 1 && block == 0) names.push_back(name + "downsample.0");
      names.push_back(name + "conv1");
      names.push_back(name + "conv2");
    }
  }
  for (const LayerShape& shape : network_layers("resnet34", 224)) {
    spec.layers.push_back(
        {names.at(spec.layers.size()), shape, 1, ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense()});
  }
  spec.layers.push_back(
      {"fc", LayerShape::linear(1, 512, 1000), 1, ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense()});
  take_zeros_of(relative, spec.layers);
  return make_synthetic(spec);
}

Trace imagenet(const std::string& network, const std::string& clustering, std::uint64_t seed,
               const DataFolder& data) {
  const Trace recorded = data.open(recorded_part("imagenet:" + network));
  const Trace layers = network == "resnet34" ? resnet34_like(recorded) : recorded;
  return ZerosTable::open((data.papers() / "imagenet_zeros" / (network + ".csv")).string())
      .draw(layers, parse_zeros_clustering(clustering), seed);
}

}  // namespace

Trace with_moved_nonzeros(const Trace& trace) {
  Random random(1);
  TraceBuilder builder(trace.path());
  builder.info() = trace.info();
  builder.info().batch = trace.batch();
  for (const Layer& layer : trace.layers()) {
    builder.add_layer(layer.name, layer.shape, layer.steps);
    for (const TraceTensor which :
         {TraceTensor(Operand::kA), TraceTensor(Operand::kG), TraceTensor(Operand::kW), kAForward})
      if (which.of(layer) != nullptr) builder.mask(which, moved(*which.of(layer), random));
  }
  return builder.build();
}

Trace open_source(const std::string& text, const DataFolder& data) {
  const SourceName name(text);
  if (name.kind().empty()) return data.open(text);
  if (name.kind() == "half") return half_of(open_source(name.after(2), data), name.seed(1) != 0 ? 1 : 0);
  if (name.kind() == "positions") return by_positions(open_source(name.after(1), data));
  if (name.kind() == "moved") return with_moved_nonzeros(open_source(name.after(1), data));
  if (name.kind() == "drawn") return drawn(data.open(name.last()), name.words.at(1), name.seed(2));
  if (name.kind() == "imagenet") return imagenet(name.words.at(1), name.words.at(2), name.seed(3), data);
  if (name.kind() == "inference") {
    const std::string& network = name.words.at(1);
    if (name.words.at(2) == "published") return inference_network(network, std::nullopt, name.seed(3));
    if (name.words.at(2) != "clustered") return inference_network(network, name.number(2), name.seed(3));
    const Trace relative = data.open(recorded_part(text));
    return inference_network(network, std::nullopt, name.seed(3), &relative);
  }
  if (name.kind() == "random") return random_layer(name.number(1), name.seed(2));
  if (name.kind() == "uniform")
    return uniform_network(name.words.at(1), static_cast<int>(name.seed(2)), name.seed(3));
  throw std::logic_error("no trace " + text);
}

double trace_weight(const std::string& text, const DataFolder& data) {
  constexpr double kByte = 1e-6;
  const SourceName name(text);
  if (name.kind() == "random") return 0.3;
  if (name.kind() == "imagenet") return 4;
  if (name.kind() == "inference") return 1;
  if (name.kind() == "uniform") return name.words.at(2) == "224" ? 1.5 : 0.4;
  const double recorded = 0.1 + data.bytes(recorded_part(text)) * kByte;
  return name.kind() == "drawn" ? 2 * recorded : recorded;
}

std::string recorded_part(const std::string& text) {
  const SourceName name(text);
  if (name.kind() == "inference" && name.words.at(2) == "clustered")
    return name.words.at(1).substr(0, name.words.at(1).find('-')) + "_p100";
  if (name.kind() == "random" || name.kind() == "uniform" || name.kind() == "inference") return "";
  if (name.kind() == "imagenet")
    return (name.words.at(1) == "resnet34" ? "resnet18" : name.words.at(1)) + "_p100";
  return name.last();
}

}  // namespace lacuna::reproduce
