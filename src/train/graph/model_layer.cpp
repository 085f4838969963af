#include "train/graph/model_layer.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/quote.hpp"

namespace lacuna::train {
namespace {

constexpr std::int64_t kLargestSize = 1 << 20;  // of any one number
constexpr std::array kInits = {"he", "he_out", "fan", "zero"};

[[noreturn]] void too_small(const LayerText& layer) {
  layer.text.fail(
      layer.at, fmt::format("the kernel is larger than its input of {}x{}", layer.in.h, layer.in.w),
      fmt::format("use larger images than {0}x{0} (size) or fewer strides and pools", layer.image_height));
}

void read_weights(const LayerText& layer, Node& made) {
  if (!layer.read("out", made.out_channels, 1, kLargestSize))
    layer.text.fail(layer.at, "'out' is missing", "say how many outputs the layer has: out: 64");
  layer.read("bias", made.bias);
  layer.read("gain", made.gain, 0, 1000);
  std::string init;
  if (!layer.read("init", init)) return;
  const auto known = std::ranges::find(kInits, init);
  if (known == kInits.end())
    layer.text.fail(layer.at, fmt::format("unknown init {}", quote_name(init)),
                    "use he, he_out, fan or zero");
  made.init = static_cast<Init>(known - kInits.begin());
}

void read_conv(const LayerText& layer, Node& made) {
  layer.text.check_keys(
      layer.options,
      {"name", "out", "kernel", "stride", "padding", "dilation", "groups", "bias", "init", "gain"}, "conv");
  read_weights(layer, made);
  if (!layer.read("kernel", made.kernel, 1))
    layer.text.fail(layer.at, "'kernel' is missing", "say how large it is: kernel: 3");
  layer.read("stride", made.stride, 1);
  layer.read("padding", made.padding, 0);
  layer.read("dilation", made.dilation, 1);
  layer.read("groups", made.groups, 1, kLargestSize);
  const SampleShape& in = layer.in;
  if (in.c % made.groups != 0 || made.out_channels % made.groups != 0)
    layer.text.fail(
        layer.at,
        fmt::format("{} groups do not divide {} inputs and {} outputs", made.groups, in.c, made.out_channels),
        "change groups or out");
  const Size2 out = LayerShape::conv2d(1, in.c, made.out_channels, {in.h, in.w}, made.kernel, made.stride,
                                       made.padding, made.dilation, made.groups)
                        .output;
  if (out.h < 1 || out.w < 1) too_small(layer);
  made.out = {made.out_channels, out.h, out.w};
}

void read_pool(const LayerText& layer, const std::string& word, Node& made) {
  layer.text.check_keys(layer.options, {"name", "kernel", "stride", "padding", "ceil"}, word);
  made.kernel = {2, 2};
  layer.read("kernel", made.kernel, 1);
  made.stride = made.kernel;
  layer.read("stride", made.stride, 1);
  layer.read("padding", made.padding, 0);
  bool ceil = false;
  layer.read("ceil", ceil);
  if (2 * made.padding.h > made.kernel.h || 2 * made.padding.w > made.kernel.w)
    layer.text.fail(layer.at, "padding is more than half of the kernel", "make it smaller");
  const auto outputs = [&](std::int64_t have, std::int64_t kernel, std::int64_t stride,
                           std::int64_t padding) {
    const std::int64_t left = have + 2 * padding - kernel;
    if (left < 0) too_small(layer);
    std::int64_t count = (left + (ceil ? stride - 1 : 0)) / stride + 1;
    if ((count - 1) * stride >= have + padding) --count;  // the last window has to start inside
    return count;
  };
  made.out.h = outputs(layer.in.h, made.kernel.h, made.stride.h, made.padding.h);
  made.out.w = outputs(layer.in.w, made.kernel.w, made.stride.w, made.padding.w);
}

}  // namespace

std::vector<std::string> simple_layer_words() {
  std::vector<std::string> words;
  for (const NodeKindFacts& kind : kNodeKinds)
    if (kind.in_files) words.emplace_back(kind.name);
  return words;
}

Node read_simple_layer(const LayerText& layer, const std::string& word) {
  Node made;
  const auto kind = std::ranges::find(kNodeKinds, word, &NodeKindFacts::name);
  made.kind = static_cast<NodeKind>(kind - kNodeKinds.begin());
  made.out = layer.in;
  switch (made.kind) {
    case NodeKind::kConv:
      read_conv(layer, made);
      break;
    case NodeKind::kLinear:
      layer.text.check_keys(layer.options, {"name", "out", "bias", "init", "gain"}, word);
      read_weights(layer, made);
      made.out = {made.out_channels, 1, 1};
      break;
    case NodeKind::kMaxPool:
    case NodeKind::kAveragePool:
      read_pool(layer, word, made);
      break;
    case NodeKind::kDropout:
      layer.text.check_keys(layer.options, {"name", "rate"}, word);
      made.rate = 0.5;
      layer.read("rate", made.rate, 0, 0.99);
      break;
    default:
      layer.text.check_keys(layer.options, {"name"}, word);
      if (made.kind == NodeKind::kFlatten) made.out = {made.out.size(), 1, 1};
  }
  return made;
}

}  // namespace lacuna::train
