#include "sim/arch_config.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/quote.hpp"
#include "base/yaml/load_yaml.hpp"

namespace lacuna {
namespace {

constexpr std::size_t kLongestValue = 4096;
constexpr int kDeepestList = 8;

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& file) : file_(file) {}

  ArchConfig read(const YAML::Node& root) {
    read_map(root, true);
    if (config_.base.empty()) {
      throw InputError(file_, "it does not say which machine it configures", "add a line 'arch: NAME'");
    }
    return std::move(config_);
  }

 private:
  std::string place(const YAML::Node& node) const {
    return node.Mark().line < 0 ? file_ : fmt::format("{}:{}", file_, node.Mark().line + 1);
  }
  [[noreturn]] void fail(const YAML::Node& node, std::string_view cause, std::string_view remedy) const {
    throw InputError(place(node), cause, remedy);
  }

  void read_map(const YAML::Node& map, bool top) {
    std::vector<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) fail(entry.first, "a key is not a word", "write key: value");
      const std::string key = entry.first.Scalar();
      if (std::ranges::find(seen, key) != seen.end()) {
        fail(entry.first, fmt::format("the key {} is there twice", quote_name(key)), "remove one of them");
      }
      seen.push_back(key);
      if (top && (key == "arch" || key == "base")) {
        if (!config_.base.empty()) fail(entry.first, "'arch' and 'base' mean the same", "keep one of them");
        config_.base = word(entry.second, key);
        config_.base_origin = place(entry.second);
      } else if (top && key == "name") {
        config_.name = word(entry.second, key);
      } else if (top && key == "summary") {
        config_.summary = word(entry.second, key);
      } else if (top && key == "params") {
        if (entry.second.IsNull()) continue;
        if (!entry.second.IsMap())
          fail(entry.second, "'params' is not a list of 'key: value' lines", "write key: value under it");
        read_map(entry.second, false);
      } else {
        add_setting(entry.first, key, entry.second);
      }
    }
  }

  void add_setting(const YAML::Node& at, const std::string& key, const YAML::Node& value) {
    for (const ArchSetting& setting : config_.settings) {
      if (setting.key == key) {
        fail(at, fmt::format("{} was already set at {}", quote_name(key), setting.origin),
             "remove one of them");
      }
    }
    std::string text;
    append(value, at, text, 0);
    config_.settings.push_back({key, std::move(text), place(at)});
  }

  std::string word(const YAML::Node& node, const std::string& key) const {
    if (!node.IsScalar() || node.Scalar().empty()) {
      fail(node, fmt::format("'{}' has no value", key), fmt::format("write {}: NAME", key));
    }
    if (node.Scalar().size() > kLongestValue) fail(node, fmt::format("'{}' is too long", key), "shorten it");
    return node.Scalar();
  }

  // Scalars as they are written, lists as in YAML's flow style without blanks. Errors point at the key: an
  // empty value's own place is the line after it.
  void append(const YAML::Node& node, const YAML::Node& key, std::string& text, int depth) const {
    if (node.IsSequence() && depth < kDeepestList) {
      text += '[';
      for (std::size_t i = 0; i < node.size() && text.size() <= kLongestValue; ++i) {
        if (i > 0) text += ',';
        append(node[i], key, text, depth + 1);
      }
      text += ']';
    } else if (node.IsScalar()) {
      text += node.Scalar();
    } else {
      const char* what = node.IsMap() ? "a map" : node.IsSequence() ? "a list in too many lists" : "missing";
      fail(key, fmt::format("the value of {} is {}", quote_name(key.Scalar()), what),
           "write a number, a word or a list");
    }
    if (text.size() > kLongestValue) {
      fail(key, fmt::format("the value of {} is too long", quote_name(key.Scalar())), "shorten it");
    }
  }

  const std::string& file_;
  ArchConfig config_;
};

}  // namespace

ArchConfig ArchConfig::parse(std::string_view yaml, const std::string& file) {
  const YAML::Node root = load_yaml(yaml, file, {"a configuration", "start with 'arch: NAME'"});
  try {
    return ConfigReader(file).read(root);
  } catch (const YAML::Exception& error) {
    throw yaml_error(error, file);
  }
}

}  // namespace lacuna
