// Values in a model file: names, numbers and `$names`, checked; every error gives the line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/yaml/yaml_reader.hpp"
#include "tensor/layer_shape.hpp"

namespace lacuna::train {

// The context of a place in the file: the values of `$names`, the prefix of layer names, counters of
// unnamed layers.
struct Scope {
  std::map<std::string, std::string> values;
  std::string prefix;
  std::map<std::string, int>* counters = nullptr;
  int depth = 0;
};

// Names go into headers and reports, which are JSON and so UTF-8.
bool is_utf8(std::string_view text);

class ModelText : private YamlReader {
 public:
  using YamlReader::each, YamlReader::fail, YamlReader::file, YamlReader::YamlReader;

  // `what` names the value in an error.
  std::string plain(const YAML::Node& at, std::string_view what) const;
  // A scalar, or the value of the `$name` it is.
  std::string value(const YAML::Node& at, std::string_view what, const Scope& scope) const;
  std::int64_t number_of(const std::string& text, const YAML::Node& at, std::string_view what,
                         std::int64_t low, std::int64_t high) const;
  std::int64_t number(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t low,
                      std::int64_t high) const;
  double real(const YAML::Node& at, std::string_view what, const Scope& scope, double low, double high) const;
  bool flag(const YAML::Node& at, std::string_view what, const Scope& scope) const;
  // "3" or "[3, 1]"
  Size2 size(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t low) const;
  // Every key is known and there once; `of` names the map.
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known, std::string_view of) const;
};

}  // namespace lacuna::train
