#include "trace/synthetic/synthetic_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "trace/format/layer_list.hpp"

namespace lacuna {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;

// The settings of a layer, read key by key.
class LayerWords {
 public:
  LayerWords(LayerSettings words, std::string where) : where_(std::move(where)), words_(std::move(words)) {
    const auto type = words_.find("type");
    if (type != words_.end()) {
      type_ = type->second;
      words_.erase(type);
    }
    if (type_ != "conv2d" && type_ != "linear" && type_ != "matmul" && type_ != "recurrent") {
      fail(fmt::format("unknown type {}", quote_name(type_)),
           suggest(type_, {"conv2d", "linear", "matmul", "recurrent"}));
    }
  }

  const std::string& where() const { return where_; }
  const std::string& type() const { return type_; }

  void allow(const std::vector<std::string>& keys) const {
    for (const auto& [key, value] : words_) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        fail(fmt::format("unknown key {} of {}", quote_name(key), type_), suggest(key, keys));
      }
    }
  }

  std::string text(const char* key, const std::string& fallback) const {
    const auto at = words_.find(key);
    return at == words_.end() ? fallback : at->second;
  }

  std::int64_t integer(const char* key, std::optional<std::int64_t> fallback = {}) const {
    const auto at = words_.find(key);
    if (at == words_.end()) return required(key, fallback);
    const auto value = parse_number<std::int64_t>(at->second);
    if (!value || *value < 0 || *value > kLargestSize) refuse(*at);
    return *value;
  }

  // "3" for both axes, "3x2" for height and width.
  Size2 size(const char* key, std::optional<Size2> fallback = {}) const {
    const auto at = words_.find(key);
    if (at == words_.end()) return required(key, fallback);
    const auto size = parse_size(at->second, kLargestSize);
    if (!size) refuse(*at);
    return *size;
  }

 private:
  [[noreturn]] void fail(const std::string& cause, const std::string& remedy) const {
    throw InputError(where_, cause, remedy);
  }

  template <typename Value>
  Value required(const char* key, const std::optional<Value>& fallback) const {
    if (!fallback) fail(fmt::format("'{}' is missing", key), fmt::format("add {}=...", key));
    return *fallback;
  }

  [[noreturn]] void refuse(const std::pair<const std::string, std::string>& word) const {
    fail(fmt::format("{} is not a number from 0 to {} for '{}'", quote_name(word.second), kLargestSize,
                     word.first),
         "write 3, or 3x2 for height and width");
  }

  std::string where_;
  LayerSettings words_;
  std::string type_ = "conv2d";
};

}  // namespace

ZeroSpec parse_zeros(const std::string& text, const std::string& where) {
  if (text == "dense") return ZeroSpec::dense();
  if (text == "zero") return ZeroSpec::all_zero();
  const bool clustered = text.starts_with("channel:");
  const std::string number = clustered ? text.substr(8) : text;
  const auto share = parse_number<double>(number);
  if (!share || !(*share >= 0 && *share <= 1)) {
    throw InputError(where, fmt::format("{} does not say which values are zero", quote_name(text)),
                     "write a share from 0 to 1 (uniform), channel:SHARE (clustered), dense or zero");
  }
  return clustered ? ZeroSpec::by_channel(*share) : ZeroSpec::uniform(*share);
}

SyntheticLayer make_synthetic_layer(const LayerSettings& settings, std::size_t index, const ZeroTexts& zeros,
                                    const std::string& where) {
  const LayerWords words(settings, where);
  SyntheticLayer layer;
  layer.name = words.text("name", fmt::format("layer{}", index));
  if (words.type() == "linear") {
    words.allow({"name", "in", "out", "batch", "steps", "A", "W", "G"});
    layer.steps = words.integer("steps", 1);
    layer.shape = LayerShape::linear(words.integer("batch", 1), words.integer("in"), words.integer("out"));
  } else if (words.type() == "recurrent") {
    words.allow({"name", "in", "out", "batch", "steps", "A", "W", "G"});
    layer.steps = words.integer("steps");
    layer.shape = LayerShape::linear(words.integer("batch", words.integer("steps")), words.integer("in"),
                                     words.integer("out"));
    layer.shape.sequence = std::max<std::int64_t>(1, layer.steps);
  } else if (words.type() == "matmul") {
    words.allow({"name", "rows", "in", "out", "batch", "steps", "A", "W", "G"});
    layer.steps = words.integer("steps", 1);
    layer.shape = LayerShape::matmul(words.integer("batch", 1), words.integer("rows"), words.integer("in"),
                                     words.integer("out"));
  } else {
    words.allow({"name", "in", "out", "kernel", "input", "stride", "padding", "dilation", "groups", "batch",
                 "A", "W", "G"});
    const Size2 stride = words.size("stride", Size2{1, 1});
    if (stride.h < 1 || stride.w < 1) throw InputError(words.where(), "the stride is 0", "give 1 or more");
    layer.shape = LayerShape::conv2d(words.integer("batch", 1), words.integer("in"), words.integer("out"),
                                     words.size("input"), words.size("kernel", Size2{1, 1}), stride,
                                     words.size("padding", Size2{0, 0}), words.size("dilation", Size2{1, 1}),
                                     words.integer("groups", 1));
  }
  layer.shape.validate(words.where());
  check_steps(layer.shape, layer.steps, words.where());
  layer.a = parse_zeros(words.text("A", zeros.a), words.where());
  layer.w = parse_zeros(words.text("W", zeros.w), words.where());
  layer.g = parse_zeros(words.text("G", zeros.g), words.where());
  return layer;
}

SyntheticLayer parse_synthetic_layer(const std::string& text, std::size_t index, const ZeroTexts& zeros,
                                     const std::string& where) {
  LayerSettings settings;
  settings["type"] = "";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      if (!settings.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
        throw InputError(where, fmt::format("{} is there twice", quote_name(word.substr(0, equals))),
                         "remove one");
    } else if (settings["type"].empty()) {
      settings["type"] = word;
    } else {
      throw InputError(where, fmt::format("{} is not key=value", quote_name(word)),
                       "write for example kernel=3");
    }
  }
  return make_synthetic_layer(settings, index, zeros, where);
}

}  // namespace lacuna
