#include "train/graph/model_layer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text/quote.hpp"

namespace lacuna::train {
namespace {

[[noreturn]] void too_small(const LayerPlace& place) {
  place.text.fail(
      place.at, fmt::format("the kernel is larger than its input of {}x{}", place.in.h, place.in.w),
      fmt::format("use larger images than {0}x{0} (size) or fewer strides and pools", place.image_height));
}

void read_weights(const LayerPlace& place, const YAML::Node& options, Node& made) {
  if (!options["out"])
    place.text.fail(place.at, "'out' is missing", "say how many outputs the layer has: out: 64");
  made.out_channels = place.text.number(options["out"], "out", place.scope, 1, kLargestSize);
  if (options["bias"]) made.bias = place.text.flag(options["bias"], "bias", place.scope);
  if (options["gain"]) made.gain = place.text.real(options["gain"], "gain", place.scope, 0, 1000);
  if (!options["init"]) return;
  const std::string text = place.text.value(options["init"], "init", place.scope);
  const std::map<std::string, Init> known = {
      {"he", Init::kHe}, {"he_out", Init::kHeOut}, {"fan", Init::kFan}, {"zero", Init::kZero}};
  const auto found = known.find(text);
  if (found == known.end())
    place.text.fail(place.at, fmt::format("unknown init {}", quote_name(text)),
                    "use he, he_out, fan or zero");
  made.init = found->second;
}

void read_conv(const LayerPlace& place, const YAML::Node& options, Node& made) {
  place.text.check_keys(
      options, {"name", "out", "kernel", "stride", "padding", "dilation", "groups", "bias", "init", "gain"},
      "conv");
  read_weights(place, options, made);
  if (!options["kernel"]) place.text.fail(place.at, "'kernel' is missing", "say how large it is: kernel: 3");
  made.kernel = place.text.size(options["kernel"], "kernel", place.scope, 1);
  if (options["stride"]) made.stride = place.text.size(options["stride"], "stride", place.scope, 1);
  if (options["padding"]) made.padding = place.text.size(options["padding"], "padding", place.scope, 0);
  if (options["dilation"]) made.dilation = place.text.size(options["dilation"], "dilation", place.scope, 1);
  if (options["groups"])
    made.groups = place.text.number(options["groups"], "groups", place.scope, 1, kLargestSize);
  const SampleShape& in = place.in;
  if (in.c % made.groups != 0 || made.out_channels % made.groups != 0)
    place.text.fail(
        place.at,
        fmt::format("{} groups do not divide {} inputs and {} outputs", made.groups, in.c, made.out_channels),
        "change groups or out");
  const auto reach = [&](std::int64_t have, std::int64_t kernel, std::int64_t padding,
                         std::int64_t dilation) {
    return have + 2 * padding - (dilation * (kernel - 1) + 1);
  };
  const std::int64_t h = reach(in.h, made.kernel.h, made.padding.h, made.dilation.h);
  const std::int64_t w = reach(in.w, made.kernel.w, made.padding.w, made.dilation.w);
  if (h < 0 || w < 0) too_small(place);
  made.out = {made.out_channels, h / made.stride.h + 1, w / made.stride.w + 1};
}

void read_pool(const LayerPlace& place, const std::string& word, const YAML::Node& options, Node& made) {
  place.text.check_keys(options, {"name", "kernel", "stride", "padding", "ceil"}, word);
  made.kernel =
      options["kernel"] ? place.text.size(options["kernel"], "kernel", place.scope, 1) : Size2{2, 2};
  made.stride =
      options["stride"] ? place.text.size(options["stride"], "stride", place.scope, 1) : made.kernel;
  if (options["padding"]) made.padding = place.text.size(options["padding"], "padding", place.scope, 0);
  const bool ceil = options["ceil"] && place.text.flag(options["ceil"], "ceil", place.scope);
  if (2 * made.padding.h > made.kernel.h || 2 * made.padding.w > made.kernel.w)
    place.text.fail(place.at, "padding is more than half of the kernel", "make it smaller");
  const SampleShape& in = place.in;
  const auto outputs = [&](std::int64_t have, std::int64_t kernel, std::int64_t stride,
                           std::int64_t padding) {
    const std::int64_t left = have + 2 * padding - kernel;
    if (left < 0) too_small(place);
    std::int64_t count = (left + (ceil ? stride - 1 : 0)) / stride + 1;
    if ((count - 1) * stride >= have + padding) --count;  // the last window has to start inside
    return count;
  };
  made.out.h = outputs(in.h, made.kernel.h, made.stride.h, made.padding.h);
  made.out.w = outputs(in.w, made.kernel.w, made.stride.w, made.padding.w);
}

}  // namespace

std::vector<std::string> simple_layer_words() {
  std::vector<std::string> words;
  for (const NodeKindFacts& kind : kNodeKinds)
    if (kind.in_files) words.emplace_back(kind.name);
  return words;
}

Node read_simple_layer(const LayerPlace& place, const std::string& word, const YAML::Node& options) {
  Node made;
  const auto kind = std::ranges::find(kNodeKinds, word, &NodeKindFacts::name);
  made.kind = static_cast<NodeKind>(kind - kNodeKinds.begin());
  made.out = place.in;
  switch (made.kind) {
    case NodeKind::kConv:
      read_conv(place, options, made);
      break;
    case NodeKind::kLinear:
      place.text.check_keys(options, {"name", "out", "bias", "init", "gain"}, word);
      read_weights(place, options, made);
      made.out = {made.out_channels, 1, 1};
      break;
    case NodeKind::kMaxPool:
    case NodeKind::kAveragePool:
      read_pool(place, word, options, made);
      break;
    case NodeKind::kDropout:
      place.text.check_keys(options, {"name", "rate"}, word);
      made.rate = options["rate"] ? place.text.real(options["rate"], "rate", place.scope, 0, 0.99) : 0.5;
      break;
    default:
      place.text.check_keys(options, {"name"}, word);
      if (made.kind == NodeKind::kFlatten) made.out = {made.out.size(), 1, 1};
  }
  return made;
}

}  // namespace lacuna::train
