#include "trace/format/layer_list.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::string_view kRemedy = "correct the layer's description or record the trace again";

const std::vector<std::string> kConvKeys{
    "name",   "type",  "in_channels", "out_channels", "kernel", "stride",   "padding",   "dilation",
    "groups", "batch", "input_hw",    "output_hw",    "steps",  "sparsity", "operations"};
const std::vector<std::string> kLinearKeys{"name",  "type",  "in_features", "out_features",
                                           "batch", "steps", "sparsity",    "operations"};
const std::vector<std::string> kMatmulKeys{"name", "type",  "in_features", "out_features", "batch",
                                           "rows", "steps", "sparsity",    "operations"};

// One layer's object, with messages that name the layer and the key.
class LayerReader {
 public:
  LayerReader(const json& object, std::string place) : object_(object), place_(std::move(place)) {}

  std::int64_t integer(const char* key) const { return integer_value(value(key), key); }

  std::int64_t integer(const char* key, std::int64_t fallback) const {
    return object_.contains(key) ? integer(key) : fallback;
  }

  // Sizes that are multiplied before the layer's shape is checked.
  std::int64_t bounded(const char* key) const {
    constexpr std::int64_t kLargest = std::int64_t{1} << 24;
    const std::int64_t number = integer(key);
    if (number < 1 || number > kLargest)
      fail(fmt::format("'{}' is {}, outside 1..{}", key, number, kLargest));
    return number;
  }

  bool flag(const char* key) const {
    const auto at = object_.find(key);
    if (at == object_.end()) return false;
    if (!at->is_boolean()) fail(fmt::format("'{}' is neither true nor false", key));
    return at->get<bool>();
  }

  Size2 size(const char* key) const {
    const json& pair = value(key);
    if (!pair.is_array() || pair.size() != 2) fail(fmt::format("'{}' is not a list of two", key));
    return {integer_value(pair[0], key), integer_value(pair[1], key)};
  }

  // An unknown key is ignored, unless it looks like a misspelling of one that is missing: the value would be
  // lost silently.
  void check_keys(const std::vector<std::string>& known) const {
    std::vector<std::string> missing;
    for (const std::string& key : known) {
      if (!object_.contains(key)) missing.push_back(key);
    }
    for (const auto& [key, unused] : object_.items()) {
      const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
      const std::string near = is_known || key.size() > 64 ? "" : nearest_name(key, missing);
      if (!near.empty()) {
        throw InputError(place_, "unknown key " + quote_name(key), fmt::format("did you mean '{}'?", near));
      }
    }
  }

  double noted_zeros(const char* tensor) const {
    if (!object_.contains("sparsity")) return -1;
    const json& shares = object_["sparsity"];
    if (!shares.is_object()) fail("'sparsity' is not an object");
    if (!shares.contains(tensor)) return -1;
    const json& share = shares[tensor];
    if (!share.is_number() || !(share.get<double>() >= 0 && share.get<double>() <= 1)) {
      fail(fmt::format("sparsity of {} is not a number from 0 to 1", tensor));
    }
    return share.get<double>();
  }

  std::optional<PerOperation<bool>> operations() const {
    const auto at = object_.find("operations");
    if (at == object_.end()) return std::nullopt;
    if (!at->is_array() || at->empty()) fail("'operations' is not a list of operations that the step ran");
    PerOperation<bool> listed{};
    for (const json& item : *at) {
      const std::string name = item.is_string() ? item.get<std::string>() : std::string();
      const auto op = std::ranges::find(kOperations, name, operation_name);
      if (op == kOperations.end()) {
        throw InputError(place_, "unknown operation " + quote_name(name),
                         suggest(name, {"forward", "input_grad", "weight_grad"}));
      }
      if (std::exchange(listed[*op], true)) fail(fmt::format("'operations' lists {} twice", name));
    }
    return listed;
  }

  const std::string& place() const { return place_; }
  [[noreturn]] void fail(const std::string& cause) const { throw InputError(place_, cause, kRemedy); }

 private:
  const json& value(const char* key) const {
    const auto at = object_.find(key);
    if (at == object_.end()) fail(fmt::format("'{}' is missing", key));
    return *at;
  }

  std::int64_t integer_value(const json& number, const char* key) const {
    if (!number.is_number_integer()) fail(fmt::format("'{}' is not an integer", key));
    if (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX) {
      fail(fmt::format("'{}' is too large", key));
    }
    return number.get<std::int64_t>();
  }

  const json& object_;
  std::string place_;
};

std::string string_member(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Refuses what the file's version does not have: an older program would misread the layer or miss it.
void needs_version(int needed, const LayerReader& reader, const std::string& what, int version) {
  if (version >= needed) return;
  throw InputError(reader.place(),
                   fmt::format("{} needs format version {}, the file says {}", what, needed, version),
                   fmt::format("write \"version\": \"{}\" in the metadata", needed));
}

LayerEntry read_layer(const json& object, std::size_t index, const std::string& where, int version) {
  if (!object.is_object()) {
    throw InputError(where, fmt::format("entry {} of 'layers' is not an object", index), kRemedy);
  }
  LayerEntry layer;
  layer.name = string_member(object, "name");
  if (layer.name.empty()) {
    throw InputError(where, fmt::format("entry {} of 'layers' has no 'name'", index), kRemedy);
  }
  const LayerReader reader(object, where + ": layer " + quote_name(layer.name));
  const std::string type = string_member(object, "type");
  if (type == "conv2d") {
    reader.check_keys(kConvKeys);
    layer.shape.kind = LayerKind::kConv2d;
    layer.shape.n = reader.integer("batch");
    layer.shape.c = reader.integer("in_channels");
    layer.shape.k = reader.integer("out_channels");
    layer.shape.input = reader.size("input_hw");
    layer.shape.output = reader.size("output_hw");
    layer.shape.kernel = reader.size("kernel");
    layer.shape.stride = reader.size("stride");
    layer.shape.padding = reader.size("padding");
    layer.shape.dilation = reader.size("dilation");
    layer.shape.groups = reader.integer("groups");
    layer.steps = reader.integer("steps", 1);
  } else if (type == "linear") {
    reader.check_keys(kLinearKeys);
    layer.shape = LayerShape::linear(reader.integer("batch"), reader.integer("in_features"),
                                     reader.integer("out_features"));
    layer.steps = reader.integer("steps", 1);
  } else if (type == "matmul") {
    needs_version(2, reader, "type 'matmul'", version);
    reader.check_keys(kMatmulKeys);
    layer.shape = LayerShape::matmul(reader.bounded("batch"), reader.bounded("rows"),
                                     reader.bounded("in_features"), reader.bounded("out_features"));
    layer.steps = reader.integer("steps", 1);
  } else {
    throw InputError(reader.place(), "unknown type " + quote_name(type),
                     suggest(type, {"conv2d", "linear", "matmul"}));
  }
  layer.shape.validate(reader.place());
  check_steps(layer.shape, layer.steps, reader.place());
  if (reader.flag("recurrent")) {
    needs_version(2, reader, "'recurrent'", version);
    if (layer.shape.kind != LayerKind::kLinear)
      reader.fail(fmt::format("'recurrent' is true, but a {} layer has no time steps that need each other",
                              layer_kind_name(layer.shape.kind)));
    layer.shape.sequence = layer.steps;
  }
  layer.operations = reader.operations();
  if (layer.operations) needs_version(3, reader, "'operations'", version);
  for (const TraceTensor which : kTraceTensors) layer.zeros[which.index()] = reader.noted_zeros(which.name());
  return layer;
}

}  // namespace

int needed_version(const std::vector<Layer>& layers) {
  int version = 1;
  for (const Layer& layer : layers) {
    if (layer.a_forward || layer.operations) return 3;
    if (layer.shape.kind == LayerKind::kMatmul || layer.shape.sequence > 1) version = 2;
  }
  return version;
}

int noted_digits(const std::vector<LayerEntry>& layers) {
  constexpr int kMost = 6;
  int digits = 0;
  double scale = 1;
  const auto needs_more = [&](double share) {
    return std::abs(share * scale - std::round(share * scale)) > 1e-9;
  };
  for (const LayerEntry& layer : layers) {
    for (const TraceTensor which : kTraceTensors) {
      const double share = layer.noted_zeros(which);
      for (; share >= 0 && digits < kMost && needs_more(share); scale *= 10) ++digits;
    }
  }
  return digits;
}

std::optional<Size2> parse_size(std::string_view text, std::int64_t largest) {
  const std::size_t cross = std::min(text.find('x'), text.size());
  const auto h = parse_number<std::int64_t>(text.substr(0, cross));
  const auto w = cross == text.size() ? h : parse_number<std::int64_t>(text.substr(cross + 1));
  if (!h || !w || std::min(*h, *w) < 0 || std::max(*h, *w) > largest) return std::nullopt;
  return Size2{*h, *w};
}

void check_steps(const LayerShape& shape, std::int64_t steps, const std::string& place) {
  const bool matmul = shape.kind == LayerKind::kMatmul;
  const std::int64_t whole = matmul ? shape.groups : shape.n;
  if (steps >= 1 && whole % steps == 0 && (shape.sequence == 1 || shape.sequence == steps)) return;
  throw InputError(place,
                   fmt::format("its {} {} are not a whole number of samples of {} steps", whole,
                               matmul                             ? "products"
                               : shape.kind == LayerKind::kLinear ? "rows"
                                                                  : "images",
                               steps),
                   kRemedy);
}

std::vector<LayerEntry> parse_layer_list(std::string_view json_text, const std::string& where, int version) {
  constexpr std::string_view kWhat = "'layers' of __metadata__";
  std::vector<LayerEntry> layers;
  std::set<std::string> names;
  double all_macs = 0;
  const bool list = parse_untrusted_items(json_text, where, kWhat, [&](const json& object) {
    layers.push_back(read_layer(object, layers.size(), where, version));
    const LayerEntry& layer = layers.back();
    if (!names.insert(layer.name).second) {
      throw InputError(where, fmt::format("two layers are called {}", quote_name(layer.name)), kRemedy);
    }
    all_macs += static_cast<double>(layer.shape.macs());
  });
  if (!list) throw InputError(where, fmt::format("{} is not a list", kWhat), kRemedy);
  if (layers.empty()) throw InputError(where, "the trace has no layers", "record the trace again");
  // Totals over layers and operations are counted in 63 bits.
  if (all_macs > 0x1p60) throw InputError(where, "the layers hold more work than can be counted", kRemedy);
  return layers;
}

std::string layer_list_json(const std::vector<Layer>& layers) {
  json list = json::array();
  const auto pair = [](Size2 size) { return json::array({size.h, size.w}); };
  for (const Layer& layer : layers) {
    const LayerShape& shape = layer.shape;
    const bool matmul = shape.kind == LayerKind::kMatmul;
    json object{{"name", layer.name}, {"batch", matmul ? shape.groups : shape.n}};
    if (shape.kind == LayerKind::kConv2d) {
      object["type"] = "conv2d";
      object["in_channels"] = shape.c;
      object["out_channels"] = shape.k;
      object["kernel"] = pair(shape.kernel);
      object["stride"] = pair(shape.stride);
      object["padding"] = pair(shape.padding);
      object["dilation"] = pair(shape.dilation);
      object["groups"] = shape.groups;
      object["input_hw"] = pair(shape.input);
      object["output_hw"] = pair(shape.output);
      if (layer.steps != 1) object["steps"] = layer.steps;
    } else {
      object["type"] = layer_kind_name(shape.kind);
      object["in_features"] = shape.c_per_group();
      object["out_features"] = shape.k_per_group();
      object["steps"] = layer.steps;
      if (matmul) object["rows"] = shape.n;
      if (shape.sequence > 1) object["recurrent"] = true;
    }
    if (layer.operations) {
      object["operations"] = json::array();
      for (const Operation op : kOperations) {
        if ((*layer.operations)[op]) object["operations"].push_back(operation_name(op));
      }
    }
    object["sparsity"] = {
        {"A", layer.a.zero_share()}, {"G", layer.g.zero_share()}, {"W", layer.w.zero_share()}};
    if (layer.a_forward) object["sparsity"]["A_forward"] = layer.a_forward->zero_share();
    list.push_back(std::move(object));
  }
  return list.dump();
}

}  // namespace lacuna
