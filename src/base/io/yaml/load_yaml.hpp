// Loads a YAML file: limited in size, one document, errors with file and line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <yaml-cpp/yaml.h>

#include "base/error.hpp"

namespace lacuna {

inline constexpr std::size_t kLargestYaml = 1 << 20;
inline constexpr int kDeepestYaml = 32;

// What the file should be, for messages: "an energy table", "start with 'name: NAME'".
struct YamlKind {
  std::string_view what;
  std::string_view remedy;
};

// Throws InputError; `file` starts the message.
YAML::Node load_yaml(std::string_view text, const std::string& file, const YamlKind& kind);

// The bytes of a file, at most one more than load_yaml() takes. Throws InputError if it cannot be read.
std::string read_yaml_file(const std::string& path);

// An error of yaml-cpp as an error of the file.
InputError yaml_error(const YAML::Exception& error, const std::string& file);

}  // namespace lacuna
