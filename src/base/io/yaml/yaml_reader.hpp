// YAML files: limited in size, one document, and read value by value; every error names the file, the line
// and the key.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <yaml-cpp/yaml.h>

#include "base/error.hpp"

namespace lacuna {

inline constexpr std::size_t kLargestYaml = 1 << 20;
inline constexpr int kDeepestYaml = 32;

// Expected kind of the file, for messages: "an energy table", "start with 'name: NAME'".
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

class YamlReader {
 public:
  static constexpr std::size_t kLongestText = 4096;

  enum class Places { kLines, kColumns };

  // `part` follows the file and line in messages: ": layer 3".
  explicit YamlReader(std::string file, std::string part = "", Places places = Places::kLines)
      : file_(std::move(file)), part_(std::move(part)), places_(places) {}

  const std::string& file() const { return file_; }

  // Loads `text` (load_yaml()) and returns read(root). What yaml-cpp throws on the way becomes an InputError.
  template <typename Read>
  auto load(std::string_view text, const YamlKind& kind, const Read& read) const {
    try {
      return read(load_yaml(text, file_, kind));
    } catch (const YAML::Exception& error) {
      throw yaml_error(error, file_);
    }
  }

  // "my.yaml:4" or "my.yaml:4:7"; "my.yaml" for a node that is not in the file.
  std::string place(const YAML::Node& at) const;
  [[noreturn]] void fail(const YAML::Node& at, std::string_view cause, std::string_view remedy) const;

  // Calls use(key, key node, value) for each entry in the order of the file. Refuses anything but a map, keys
  // that are not scalars, and a key that occurs twice. `what` names the map: "'params'".
  template <typename Use>
  void each(const YAML::Node& map, std::string_view what, const Use& use) const {
    check_map(map, what);
    std::set<std::string> seen;
    for (const auto& entry : map) use(check_key(entry.first, seen), entry.first, entry.second);
  }

  // Below, `value` belongs to `key`, and errors point at `at`. Pass the key's node for `at` rather than the
  // value's: yaml-cpp places a missing value on the line after it.

  // A scalar that is neither empty nor longer than kLongestText. `remedy` is for a missing one.
  std::string text(const YAML::Node& at, std::string_view key, const YAML::Node& value,
                   std::string_view remedy = "write it after the ':'") const;
  // A finite number that is not negative.
  double number(const YAML::Node& at, std::string_view key, const YAML::Node& value) const;

 private:
  void check_map(const YAML::Node& map, std::string_view what) const;
  // Adds the key to `seen`.
  const std::string& check_key(const YAML::Node& key, std::set<std::string>& seen) const;

  std::string file_, part_;
  Places places_;
};

}  // namespace lacuna
