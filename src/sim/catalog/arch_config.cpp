#include "sim/catalog/arch_config.hpp"

#include <fmt/format.h>
#include <map>

#include "base/io/yaml/yaml_reader.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

constexpr std::size_t kLongestValue = YamlReader::kLongestText;
constexpr int kDeepestList = 8;

class ConfigReader {
 public:
  explicit ConfigReader(const YamlReader& yaml) : yaml_(yaml) {}

  ArchConfig read(const YAML::Node& root) {
    yaml_.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      read_entry(key, at, value);
    });
    if (config_.base.empty()) {
      throw InputError(yaml_.file(), "the file does not say which machine it configures",
                       "add a line 'arch: NAME'");
    }
    return std::move(config_);
  }

 private:
  void read_entry(const std::string& key, const YAML::Node& at, const YAML::Node& value) {
    if (key == "arch" || key == "base") {
      if (!config_.base.empty()) yaml_.fail(at, "'arch' and 'base' mean the same", "keep one of them");
      config_.base = word(value, key);
      config_.base_origin = yaml_.place(value);
    } else if (key == "name") {
      config_.name = word(value, key);
      if (printable(config_.name) != config_.name)
        yaml_.fail(value, "the name has characters that a terminal does not show", "use others");
    } else if (key == "summary") {
      config_.summary = word(value, key);
    } else if (key == "params") {
      if (value.IsNull()) return;
      yaml_.each(value, "'params'",
                 [&](const std::string& name, const YAML::Node& name_at, const YAML::Node& setting) {
                   add_setting(name_at, name, setting);
                 });
    } else {
      add_setting(at, key, value);
    }
  }

  void add_setting(const YAML::Node& at, const std::string& key, const YAML::Node& value) {
    const auto [first, added] = set_at_.emplace(key, config_.settings.size());
    if (!added) {
      yaml_.fail(
          at,
          fmt::format("{} was already set at {}", quote_name(key), config_.settings[first->second].origin),
          "remove one of them");
    }
    std::string text;
    append(value, at, text, 0);
    config_.settings.push_back({key, std::move(text), yaml_.place(at)});
  }

  std::string word(const YAML::Node& value, const std::string& key) const {
    return yaml_.text(value, key, value, fmt::format("write {}: NAME", key));
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
      yaml_.fail(key, fmt::format("the value of {} is {}", quote_name(key.Scalar()), what),
                 "write a number, a word or a list");
    }
    if (text.size() > kLongestValue) {
      yaml_.fail(key, fmt::format("the value of {} is too long", quote_name(key.Scalar())), "shorten it");
    }
  }

  const YamlReader& yaml_;
  ArchConfig config_;
  std::map<std::string, std::size_t> set_at_;  // where each key is in config_.settings
};

}  // namespace

ArchConfig ArchConfig::parse(std::string_view yaml, const std::string& file) {
  const YamlReader reader(file);
  return reader.load(yaml, {"a configuration", "start with 'arch: NAME'"},
                     [&](const YAML::Node& root) { return ConfigReader(reader).read(root); });
}

}  // namespace lacuna
