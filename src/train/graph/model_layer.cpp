#include "train/graph/model_layer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
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

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string ModelText::plain(const YAML::Node& at, std::string_view what) const {
  if (!at.IsDefined() || !at.IsScalar() || at.Scalar().empty() || at.Scalar().size() > 500)
    fail(at, fmt::format("'{}' is not a short text", what), fmt::format("write {}: TEXT", what));
  return at.Scalar();
}

std::string ModelText::value(const YAML::Node& at, std::string_view what, const Scope& scope) const {
  std::string text = plain(at, what);
  if (text[0] != '$') return text;
  const auto found = scope.values.find(text.substr(1));
  if (found != scope.values.end()) return found->second;
  fail(at, fmt::format("{} is not known here", quote_name(text)),
       suggest(text.substr(1), keys_of(scope.values)));
}

std::int64_t ModelText::number_of(const std::string& text, const YAML::Node& at, std::string_view what,
                                  std::int64_t low, std::int64_t high) const {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < low || *number > high)
    fail(at, fmt::format("{} is {}", what, quote_name(text)),
         fmt::format("give a whole number from {} to {}", low, high));
  return *number;
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, double& to, double low,
                     double high) const {
  const std::string text = value(at, what, scope);
  const auto number = parse_number<double>(text);
  if (!number || !(*number >= low && *number <= high))
    fail(at, fmt::format("{} is {}", what, quote_name(text)),
         fmt::format("give a number from {} to {}", low, high));
  to = *number;
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t& to,
                     std::int64_t low, std::int64_t high) const {
  to = number_of(value(at, what, scope), at, what, low, high);
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, bool& to) const {
  const std::string text = value(at, what, scope);
  to = text == "true" || text == "yes";
  if (!to && text != "false" && text != "no")
    fail(at, fmt::format("{} is {}", what, quote_name(text)), "give yes or no");
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, Size2& to,
                     std::int64_t low) const {
  if (at.IsSequence() && at.size() != 2)
    fail(at, fmt::format("{} has {} numbers", what, at.size()), "write one, or [height, width]");
  read(at.IsSequence() ? at[0] : at, what, scope, to.h, low, 4096);
  read(at.IsSequence() ? at[1] : at, what, scope, to.w, low, 4096);
}

void ModelText::check_keys(const YAML::Node& map, const std::vector<std::string>& known,
                           std::string_view of) const {
  if (!map.IsMap()) return;
  each(map, of, [&](const std::string& key, const YAML::Node& at, const YAML::Node&) {
    if (std::ranges::find(known, key) == known.end())
      fail(at, fmt::format("{} has no key {}", of, quote_name(key)), suggest(key, known));
  });
}

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
