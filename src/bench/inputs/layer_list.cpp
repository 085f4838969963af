#include "bench/inputs/layer_list.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "base/io/embedded_file.hpp"
#include "base/io/yaml/yaml_reader.hpp"
#include "base/memory.hpp"
#include "base/text/quote.hpp"

namespace lacuna::bench {

std::span<const EmbeddedFile> embedded_shapes();  // cmake/LacunaEmbed.cmake

namespace {

// Far beyond any layer of a real network; a case is run some dozens of times.
constexpr std::int64_t kMaxSize = 1 << 24;
constexpr double kMaxMacs = 0x1p44;

constexpr std::string_view kExample = "see configs/shapes/vgg16.yaml";

// A mapping of the file; a key that is not read is an error.
class Reader {
 public:
  Reader(const YAML::Node& node, YamlReader yaml) : node_(node), yaml_(std::move(yaml)) {
    if (!node_.IsMap()) yaml_.fail(node_, "not a mapping of keys", kExample);
    // Refuses duplicate keys before any is read: yaml-cpp would return the first.
    yaml_.each(node_, "this", [](const std::string&, const YAML::Node&, const YAML::Node&) {});
  }

  // Reads a value if its key is there.
  template <typename Value>
  bool read(const char* key, Value& to) {
    asked_.insert(key);
    if (!node_[key]) return false;
    try {
      to = node_[key].as<Value>();
    } catch (const YAML::Exception&) {
      fail(key, "cannot be read", kExample);
    }
    return true;
  }
  bool read(const char* key, std::int64_t& to, std::int64_t min) {
    if (!read(key, to)) return false;
    if (to < min || to > kMaxSize)
      fail(key, fmt::format("is {}, outside {}..{}", to, min, kMaxSize), "correct it");
    return true;
  }
  bool read(const char* key, Size2& to, std::int64_t min) {
    std::vector<std::int64_t> pair;
    if (!read(key, pair)) return false;
    if (pair.size() != 2) fail(key, fmt::format("has {} numbers", pair.size()), "write [height, width]");
    for (const std::int64_t size : pair)
      if (size < min || size > kMaxSize)
        fail(key, fmt::format("is {}, outside {}..{}", size, min, kMaxSize), "correct it");
    to = {pair[0], pair[1]};
    return true;
  }
  template <typename Value, typename... Min>
  Value required(const char* key, Min... min) {
    Value value{};
    if (!read(key, value, min...)) yaml_.fail(node_, fmt::format("'{}' is missing", key), "add it");
    return value;
  }
  std::string name() {
    auto text = required<std::string>("name");
    if (text.empty() || std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      fail("name", fmt::format("is not a name: {}", quote_name(text)), "give a name of one line");
    return text;
  }
  double speedup(const char* key) {
    double speedup = 0;
    if (read(key, speedup) && !(speedup > 0 && speedup <= 1e6))
      fail(key, fmt::format("is {}, not a speedup", speedup), "give a number above 0, or leave it out");
    return speedup;
  }
  // Reads `count` names, or none if the key is absent.
  std::vector<std::string> names(const char* key, std::int64_t count) {
    std::vector<std::string> names;
    if (read(key, names) && std::ssize(names) != count)
      fail(key, fmt::format("has {} names", names.size()),
           fmt::format("give {}: one per layer of this shape", count));
    return names;
  }
  YAML::Node list(const char* key) {
    asked_.insert(key);
    if (!node_[key] || !node_[key].IsSequence() || node_[key].size() == 0)
      yaml_.fail(node_, fmt::format("the list '{}' is missing", key), "add it");
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
  [[noreturn]] void fail(const char* key, const std::string& cause, std::string_view remedy) const {
    yaml_.fail(node_[key], fmt::format("'{}' {}", key, cause), remedy);
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
  network.name = file.name();
  network.paper_training = file.speedup("paper_training");
  network.paper_inference = file.speedup("paper_inference");
  for (const YAML::Node& node : file.list("layers")) {
    Reader entry(node, YamlReader(yaml.file(), fmt::format(": layer {}", network.layers.size() + 1)));
    NetworkLayer& layer = network.layers.emplace_back();
    layer.name = entry.name();
    entry.read("count", layer.count, 1);
    entry.read("initial", layer.initial);
    const auto c = entry.required<std::int64_t>("c", 1), k = entry.required<std::int64_t>("k", 1);
    const auto input = entry.required<Size2>("input", 1), kernel = entry.required<Size2>("kernel", 1);
    Size2 stride{1, 1}, padding{0, 0}, dilation{1, 1};
    std::int64_t groups = 1;
    entry.read("stride", stride, 1);
    entry.read("padding", padding, 0);
    entry.read("dilation", dilation, 1);
    entry.read("groups", groups, 1);
    layer.shape = LayerShape::conv2d(batch, c, k, input, kernel, stride, padding, dilation, groups);
    check_shape(layer.shape, entry.where());
    layer.zeros_a = entry.names("zeros_a", layer.count);
    layer.zeros_g = entry.names("zeros_g", layer.count);
    entry.finish();
  }
  file.finish();
  return network;
}

}  // namespace

std::vector<std::string> shape_names() { return stems(embedded_shapes()); }

Network read_shapes(const std::string& name, std::int64_t batch) {
  const auto [file, text] =
      read_named(embedded_shapes(), name, ".yaml", "--shapes " + quote_name(name), "list of layers");
  return parse_shapes(text, file, batch);
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

}  // namespace lacuna::bench
