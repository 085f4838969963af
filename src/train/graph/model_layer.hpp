// Values in a model file - names, numbers and `$names`, checked; every error gives the line - and layers that
// are not structures of others: from word and options to a node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/yaml/yaml_reader.hpp"
#include "train/graph/graph.hpp"

namespace lacuna::train {

// The context of a place in the file: the values of `$names`, the prefix of layer names, counters of
// unnamed layers.
struct Scope {
  std::map<std::string, std::string> values;
  std::string prefix;
  std::map<std::string, int>* counters = nullptr;
  int depth = 0;
};

template <typename Value>
std::vector<std::string> keys_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : map) keys.push_back(key);
  return keys;
}

// Names go into headers and reports, which are JSON and so UTF-8.
bool is_utf8(std::string_view text);

class ModelText : private YamlReader {
 public:
  using YamlReader::each, YamlReader::fail, YamlReader::file, YamlReader::YamlReader;

  // `what` names the value in an error.
  std::string plain(const YAML::Node& at, std::string_view what) const;
  // Returns a scalar, or the value of the `$name` that it is.
  std::string value(const YAML::Node& at, std::string_view what, const Scope& scope) const;
  std::int64_t number_of(const std::string& text, const YAML::Node& at, std::string_view what,
                         std::int64_t low, std::int64_t high) const;
  // Each reads a value within its limits; a size is "3" or "[3, 1]".
  void read(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t& to,
            std::int64_t low, std::int64_t high) const;
  void read(const YAML::Node& at, std::string_view what, const Scope& scope, double& to, double low,
            double high) const;
  void read(const YAML::Node& at, std::string_view what, const Scope& scope, bool& to) const;
  void read(const YAML::Node& at, std::string_view what, const Scope& scope, std::string& to) const {
    to = value(at, what, scope);
  }
  void read(const YAML::Node& at, std::string_view what, const Scope& scope, Size2& to,
            std::int64_t low) const;
  // Checks that every key is known and occurs once; `of` names the map.
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known, std::string_view of) const;
};

// A layer in a model file: its place and options.
struct LayerText {
  const ModelText& text;
  const YAML::Node& at;  // for errors
  const YAML::Node& options;
  const Scope& scope;
  SampleShape in;
  std::int64_t image_height = 0;  // of the network's input

  // Reads the option `key` if it is given, within its limits.
  template <typename Value, typename... Limits>
  bool read(const char* key, Value& to, Limits... limits) const {
    const YAML::Node given = options[key];
    if (given) text.read(given, key, scope, to, limits...);
    return static_cast<bool>(given);
  }
};

// Returns the words of these layers, without those of structures.
std::vector<std::string> simple_layer_words();
// Returns a node with its shape, without inputs and name; `word` is one of the above. Throws InputError.
Node read_simple_layer(const LayerText& layer, const std::string& word);

}  // namespace lacuna::train
