#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

#include "base/io/yaml/yaml_reader.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "network/layer_file.hpp"

namespace lacuna::network {
namespace {

constexpr std::string_view kRemedy = "write for example {name: c1, in: 3, out: 8, kernel: 3, input: 32}";

// Keys of configs/shapes that only `lacuna bench` uses.
constexpr std::array<std::string_view, 2> kBenchNetworkKeys{"paper_training", "paper_inference"};
constexpr std::array<std::string_view, 3> kBenchLayerKeys{"initial", "zeros_a", "zeros_g"};

class LayersReader {
 public:
  LayersReader(const YamlReader& yaml, const ZeroTexts& zeros) : yaml_(yaml), zeros_(zeros) {}

  LayerList read(const YAML::Node& root) {
    list_.name = std::filesystem::path(yaml_.file()).stem().string();
    yaml_.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "name") {
        list_.name = one_line(yaml_.text(at, key, value));
      } else if (key == "layers") {
        if (!value.IsSequence()) yaml_.fail(at, "'layers' is not a list", kRemedy);
        for (const YAML::Node& layer : value) read_layer(layer);
      } else if (std::ranges::find(kBenchNetworkKeys, key) == kBenchNetworkKeys.end()) {
        yaml_.fail(at, fmt::format("unknown key {}", quote_name(key)), "the keys are name and layers");
      }
    });
    if (list_.layers.empty()) throw InputError(yaml_.file(), "there is no layer in 'layers'", kRemedy);
    return std::move(list_);
  }

 private:
  void read_layer(const YAML::Node& node) {
    const std::string where = yaml_.place(node);
    if (node.IsScalar())
      return add(parse_synthetic_layer(node.Scalar(), list_.layers.size(), zeros_, where), 1, node);
    LayerSettings settings;
    std::int64_t count = 1;
    yaml_.each(node, "a layer", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (std::ranges::find(kBenchLayerKeys, key) != kBenchLayerKeys.end()) return;
      const std::string text = value.IsSequence() ? size(at, key, value) : yaml_.text(at, key, value);
      if (key == "count") {
        const auto number = parse_number<std::int64_t>(text);
        if (!number || *number < 1 || *number > static_cast<std::int64_t>(kMostLayers))
          yaml_.fail(at, fmt::format("{} is not a number of layers", quote_name(text)), "give 1 or more");
        count = *number;
      } else if (!settings.emplace(key == "c" ? "in" : key == "k" ? "out" : key, text).second) {
        yaml_.fail(at, fmt::format("{} is there twice: 'c' is 'in', 'k' is 'out'", quote_name(key)),
                   "remove one");
      }
    });
    add(make_synthetic_layer(settings, list_.layers.size(), zeros_, where), count, node);
  }

  // Converts [height, width] to the text of a size.
  std::string size(const YAML::Node& at, const std::string& key, const YAML::Node& value) const {
    if (value.size() != 2 || !value[0].IsScalar() || !value[1].IsScalar())
      yaml_.fail(at, fmt::format("the value of {} is not a size", quote_name(key)),
                 "write 3, or [3, 2] for height and width");
    return value[0].Scalar() + "x" + value[1].Scalar();
  }

  void add(const SyntheticLayer& layer, std::int64_t count, const YAML::Node& at) {
    if (static_cast<std::size_t>(count) > kMostLayers - list_.layers.size())
      yaml_.fail(at, fmt::format("the list has more than {} layers", kMostLayers), "split it");
    for (std::int64_t i = 0; i < count; ++i) {
      list_.layers.push_back(layer);
      if (i > 0) list_.layers.back().name += fmt::format("_{}", i + 1);
    }
  }

  const YamlReader& yaml_;
  const ZeroTexts& zeros_;
  LayerList list_;
};

}  // namespace

LayerList parse_yaml_layers(std::string_view text, const std::string& file, const ZeroTexts& zeros) {
  const YamlReader yaml(file);
  return yaml.load(text, {"a list of layers", kRemedy},
                   [&](const YAML::Node& root) { return LayersReader(yaml, zeros).read(root); });
}

}  // namespace lacuna::network
