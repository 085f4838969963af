#include "bench/inputs/layer_list.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "base/embedded_file.hpp"
#include "base/io/yaml/yaml_reader.hpp"
#include "base/memory.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_shapes();  // cmake/LacunaEmbed.cmake

namespace bench {
namespace {

// Far beyond any layer of a real network; a case is run some dozens of times.
constexpr std::int64_t kMaxSize = 1 << 24;
constexpr std::int64_t kMaxCount = 1 << 20;
constexpr double kMaxMacs = 0x1p44;

constexpr std::string_view kExample = "see configs/shapes/vgg16.yaml";

// A mapping of the file; a key that is not asked for is an error.
class Reader {
 public:
  Reader(const YAML::Node& node, YamlReader yaml) : node_(node), yaml_(std::move(yaml)) {
    if (!node_.IsMap()) yaml_.fail(node_, "not a mapping of keys", kExample);
    // Refuses duplicate keys before any is read: yaml-cpp would return the first.
    yaml_.each(node_, "this", [](const std::string&, const YAML::Node&, const YAML::Node&) {});
  }

  std::string name(const std::string& key) {
    auto text = get<std::string>(key);
    if (text.empty() || std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      yaml_.fail(node_[key], fmt::format("'{}' is not a name: {}", key, quote_name(text)),
                 "give a name of one line");
    return text;
  }
  std::int64_t integer(const std::string& key, std::int64_t min, std::int64_t max) {
    return in_range(get<std::int64_t>(key), key, min, max);
  }
  std::int64_t integer_or(const std::string& key, std::int64_t value, std::int64_t max) {
    return has(key) ? integer(key, 1, max) : value;
  }
  bool flag_or(const std::string& key, bool value) { return has(key) ? get<bool>(key) : value; }
  double speedup_or(const std::string& key, double value) {
    if (!has(key)) return value;
    const auto number = get<double>(key);
    if (!(number > 0 && number <= 1e6))
      yaml_.fail(node_[key], fmt::format("'{}' is {}, not a speedup", key, number),
                 "give a number above 0, or leave it out");
    return number;
  }
  Size2 size(const std::string& key, std::int64_t min) {
    const auto pair = get<std::vector<std::int64_t>>(key);
    if (pair.size() != 2)
      yaml_.fail(node_[key], fmt::format("{} has {} numbers", key, pair.size()), "write [height, width]");
    return {in_range(pair[0], key, min, kMaxSize), in_range(pair[1], key, min, kMaxSize)};
  }
  Size2 size_or(const std::string& key, Size2 value, std::int64_t min) {
    return has(key) ? size(key, min) : value;
  }
  // Returns `count` names, or none if the key is absent.
  std::vector<std::string> names_or_none(const std::string& key, std::int64_t count) {
    if (!has(key)) return {};
    auto names = get<std::vector<std::string>>(key);
    if (static_cast<std::int64_t>(names.size()) != count)
      yaml_.fail(node_[key], fmt::format("{} has {} names", key, names.size()),
                 fmt::format("give {}: one per layer of this shape", count));
    return names;
  }
  YAML::Node list(const std::string& key) {
    if (!has(key) || !node_[key].IsSequence() || node_[key].size() == 0)
      yaml_.fail(node_, fmt::format("there is no list '{}'", key), "add it");
    return node_[key];
  }
  void finish() const {
    yaml_.each(node_, "this", [&](const std::string& key, const YAML::Node& at, const YAML::Node&) {
      if (!asked_.contains(key))
        yaml_.fail(at, fmt::format("unknown key {}", quote_name(key)),
                   fmt::format("the keys are {}", fmt::join(asked_, ", ")));
    });
  }
  std::string where() const { return yaml_.place(node_); }

 private:
  std::int64_t in_range(std::int64_t value, const std::string& key, std::int64_t min,
                        std::int64_t max) const {
    if (value < min || value > max)
      yaml_.fail(node_[key], fmt::format("'{}' is {}, outside {}..{}", key, value, min, max), "correct it");
    return value;
  }
  bool has(const std::string& key) {
    asked_.insert(key);
    return static_cast<bool>(node_[key]);
  }
  template <typename T>
  T get(const std::string& key) {
    if (!has(key)) yaml_.fail(node_, fmt::format("'{}' is missing", key), "add it");
    try {
      return node_[key].as<T>();
    } catch (const YAML::Exception&) {
      yaml_.fail(node_[key], fmt::format("'{}' cannot be read", key), kExample);
    }
  }

  YAML::Node node_;
  YamlReader yaml_;
  std::set<std::string> asked_;
};

// Checks that the sizes fit together and that this machine can run the layer.
void check_shape(const LayerShape& shape, const std::string& where) {
  shape.validate(where);
  const double elements = static_cast<double>(shape.a_elements()) + static_cast<double>(shape.w_elements()) +
                          static_cast<double>(shape.g_elements());
  // FP32, in our layout and in oneDNN's.
  const double bytes = elements * 4 * 2;
  static const auto memory = static_cast<double>(memory_budget());  // reads files: once, not for every layer
  if (bytes > memory || static_cast<double>(shape.macs()) > kMaxMacs) {
    throw InputError(where,
                     fmt::format("{} with {} images takes {:.1g} GB and {:.1g} MACs, too much to be timed",
                                 shape.describe(), shape.n, bytes / 1e9, static_cast<double>(shape.macs())),
                     "give smaller sizes or a smaller --batch");
  }
}

Network read_network(const YAML::Node& root, const YamlReader& yaml, std::int64_t batch) {
  Reader file(root, yaml);
  Network network;
  network.name = file.name("name");
  network.paper_training = file.speedup_or("paper_training", 0);
  network.paper_inference = file.speedup_or("paper_inference", 0);
  for (const YAML::Node& node : file.list("layers")) {
    Reader entry(node, YamlReader(yaml.file(), fmt::format(": layer {}", network.layers.size() + 1)));
    NetworkLayer layer;
    layer.name = entry.name("name");
    layer.count = entry.integer_or("count", 1, kMaxCount);
    layer.initial = entry.flag_or("initial", false);
    const std::int64_t c = entry.integer("c", 1, kMaxSize);
    const std::int64_t k = entry.integer("k", 1, kMaxSize);
    const Size2 input = entry.size("input", 1);
    const Size2 kernel = entry.size("kernel", 1);
    const Size2 stride = entry.size_or("stride", {1, 1}, 1);
    const Size2 padding = entry.size_or("padding", {0, 0}, 0);
    const Size2 dilation = entry.size_or("dilation", {1, 1}, 1);
    const std::int64_t groups = entry.integer_or("groups", 1, kMaxSize);
    layer.shape = LayerShape::conv2d(batch, c, k, input, kernel, stride, padding, dilation, groups);
    check_shape(layer.shape, entry.where());
    layer.zeros_a = entry.names_or_none("zeros_a", layer.count);
    layer.zeros_g = entry.names_or_none("zeros_g", layer.count);
    entry.finish();
    network.layers.push_back(layer);
  }
  file.finish();
  return network;
}

}  // namespace

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_shapes()) names.emplace_back(file.stem());
  std::sort(names.begin(), names.end());
  return names;
}

Network read_shapes(const std::string& name, std::int64_t batch) {
  for (const EmbeddedFile& file : embedded_shapes())
    if (file.stem() == name) return parse_shapes(file.bytes, std::string(file.name), batch);
  if (std::filesystem::path(name).extension() != ".yaml")
    throw InputError("--shapes " + quote_name(name), "there is no such list of layers",
                     suggest(name, shape_names()) + ", or give a .yaml file");
  return parse_shapes(read_yaml_file(name), name, batch);
}

Network parse_shapes(std::string_view text, const std::string& path, std::int64_t batch) {
  const YamlReader yaml(path);
  return yaml.load(text, {"a list of layers", kExample},
                   [&](const YAML::Node& root) { return read_network(root, yaml, batch); });
}

Network network_of_trace(const std::filesystem::path& path, std::int64_t batch) {
  Network network;
  network.trace = std::make_shared<const Trace>(Trace::open(path));
  network.name = path.stem().stem().string();
  const std::string& model = network.trace->info().model;
  for (const std::string& known : shape_names())
    if (model == known || network.name.starts_with(known + "_"))
      network.paper_training = read_shapes(known, 1).paper_training;
  for (const Layer& traced : network.trace->layers()) {
    if (traced.shape.kind != LayerKind::kConv2d) continue;
    NetworkLayer layer;
    layer.name = traced.name;
    layer.shape = traced.shape;
    layer.shape.n = batch;
    check_shape(layer.shape, path.string() + ": layer " + quote_name(traced.name));
    layer.initial = network.layers.empty();
    layer.traced = &traced;
    network.layers.push_back(layer);
  }
  if (network.layers.empty())
    throw InputError(path.string(), "the trace has no convolutions",
                     "use a trace of a convolutional network");
  return network;
}

}  // namespace bench
}  // namespace lacuna
