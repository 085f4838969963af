#include "cli/bench_shapes.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "base/yaml/load_yaml.hpp"

namespace lacuna::cli {
namespace {

std::filesystem::path shapes_folder() {
  const char* configured = std::getenv("LACUNA_CONFIGS");
  return std::filesystem::path(configured != nullptr ? configured : LACUNA_CONFIG_DIR) / "shapes";
}

// One mapping of the file; every key that is not asked for is an error.
class Reader {
 public:
  Reader(const YAML::Node& node, std::string where) : node_(node), where_(std::move(where)) {
    if (!node_.IsMap()) throw InputError(where_, "not a mapping of keys", "see configs/shapes/vgg16.yaml");
  }

  std::string text(const std::string& key) { return get<std::string>(key); }
  std::int64_t integer(const std::string& key) { return get<std::int64_t>(key); }
  template <typename T>
  T or_default(const std::string& key, T value) {
    return has(key) ? get<T>(key) : value;
  }
  Size2 size(const std::string& key) {
    const auto pair = get<std::vector<std::int64_t>>(key);
    if (pair.size() != 2)
      throw InputError(where_, fmt::format("{} has {} numbers", key, pair.size()), "write [height, width]");
    return {pair[0], pair[1]};
  }
  Size2 size_or(const std::string& key, Size2 value) { return has(key) ? size(key) : value; }
  YAML::Node list(const std::string& key) {
    if (!has(key) || !node_[key].IsSequence() || node_[key].size() == 0)
      throw InputError(where_, fmt::format("there is no list '{}'", key), "add it");
    return node_[key];
  }
  void finish() const {
    std::set<std::string> seen;
    for (const auto& entry : node_) {
      const auto key = entry.first.as<std::string>("");
      if (!seen.insert(key).second)
        throw InputError(where_, fmt::format("the key '{}' is there twice", key), "remove one of them");
      if (!asked_.contains(key))
        throw InputError(where_, fmt::format("unknown key '{}'", key),
                         fmt::format("the keys are {}", fmt::join(asked_, ", ")));
    }
  }

 private:
  bool has(const std::string& key) {
    asked_.insert(key);
    return static_cast<bool>(node_[key]);
  }
  template <typename T>
  T get(const std::string& key) {
    if (!has(key)) throw InputError(where_, fmt::format("'{}' is missing", key), "add it");
    try {
      return node_[key].as<T>();
    } catch (const YAML::Exception&) {
      throw InputError(where_, fmt::format("'{}' cannot be read", key), "see configs/shapes/vgg16.yaml");
    }
  }

  YAML::Node node_;
  std::string where_;
  std::set<std::string> asked_;
};

}  // namespace

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(shapes_folder(), missing))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

BenchNetwork read_shapes(const std::string& name, std::int64_t batch) {
  std::filesystem::path path = name;
  if (path.extension() != ".yaml") path = shapes_folder() / (name + ".yaml");
  if (std::error_code error; !std::filesystem::is_regular_file(path, error)) {
    throw InputError(path.string(), "there is no such list of layers",
                     fmt::format("use one of {} or a .yaml file", fmt::join(shape_names(), ", ")));
  }
  Reader file(load_yaml(read_yaml_file(path.string()), path.string(),
                        {"a list of layers", "see configs/shapes/vgg16.yaml"}),
              path.string());
  BenchNetwork network;
  network.name = file.text("name");
  network.paper_training = file.or_default<double>("paper_training", 0);
  for (const YAML::Node& node : file.list("layers")) {
    const std::string where = fmt::format("{}: layer {}", path.string(), network.layers.size() + 1);
    Reader entry(node, where);
    BenchLayer layer;
    layer.name = entry.text("name");
    layer.count = entry.or_default<std::int64_t>("count", 1);
    layer.initial = entry.or_default<bool>("initial", false);
    if (layer.count < 1) throw InputError(where, "count is below 1", "leave it out or give 1 or more");
    const std::int64_t c = entry.integer("c");
    const std::int64_t k = entry.integer("k");
    const Size2 input = entry.size("input");
    const Size2 kernel = entry.size("kernel");
    const Size2 stride = entry.size_or("stride", {1, 1});
    const Size2 padding = entry.size_or("padding", {0, 0});
    const Size2 dilation = entry.size_or("dilation", {1, 1});
    const std::int64_t groups = entry.or_default<std::int64_t>("groups", 1);
    if (stride.h < 1 || stride.w < 1) throw InputError(where, "stride is below 1", "give 1 or more");
    layer.shape = LayerShape::conv2d(batch, c, k, input, kernel, stride, padding, dilation, groups);
    layer.shape.validate(where);
    entry.finish();
    network.layers.push_back(layer);
  }
  file.finish();
  return network;
}

BenchNetwork network_of_trace(const std::filesystem::path& path, std::int64_t batch) {
  BenchNetwork network;
  network.trace = std::make_shared<const Trace>(Trace::open(path));
  network.name = path.stem().stem().string();
  const std::string& model = network.trace->info().model;
  for (const std::string& known : shape_names())
    if (model == known || network.name.starts_with(known + "_"))
      network.paper_training = read_shapes(known, 1).paper_training;
  for (const Layer& traced : network.trace->layers()) {
    if (traced.shape.kind != LayerKind::kConv2d) continue;
    BenchLayer layer;
    layer.name = traced.name;
    layer.shape = traced.shape;
    layer.shape.n = batch;
    layer.initial = network.layers.empty();
    layer.traced = &traced;
    network.layers.push_back(layer);
  }
  if (network.layers.empty())
    throw InputError(path.string(), "the trace has no convolutions",
                     "use a trace of a convolutional network");
  return network;
}

}  // namespace lacuna::cli
