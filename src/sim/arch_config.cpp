#include "sim/arch_config.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/error.hpp"
#include "base/quote.hpp"

namespace lacuna {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kLongestValue = 4096;
constexpr int kDeepestList = 8;

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& file) : file_(file) {}

  ArchConfig read(const YAML::Node& root) {
    if (!root.IsMap()) fail(root, "this is not a list of 'key: value' lines", "start with 'arch: NAME'");
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

// Counts what is in a document.
class CountingHandler final : public YAML::EventHandler {
 public:
  int nodes = 0;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { ++nodes; }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {
    ++nodes;
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    ++nodes;
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    ++nodes;
  }
  void OnMapEnd() override {}
};

// YAML::Load() ignores what follows the first document, and YAML::LoadAll() never ends on some texts ("a #
// b", then
// ", c" on the next line: the parser reports one document after another and stays where it is). So two
// documents are asked for and no more.
void check_one_document(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  CountingHandler first;
  if (!parser.HandleNextDocument(first) || first.nodes == 0) {
    throw InputError(file, "it is empty", "start with 'arch: NAME'");
  }
  CountingHandler second;
  if (parser.HandleNextDocument(second) && second.nodes > 0) {
    throw InputError(file, "it holds more than one document", "keep one, without '---'");
  }
}

}  // namespace

ArchConfig ArchConfig::parse(std::string_view yaml, const std::string& file) {
  if (yaml.size() > kLargestFile) throw InputError(file, "larger than 1 MB", "this is not a configuration");
  try {
    const std::string text(yaml);
    check_one_document(text, file);
    return ConfigReader(file).read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    const std::string place = error.mark.line < 0 ? file : fmt::format("{}:{}", file, error.mark.line + 1);
    throw InputError(place, fmt::format("not YAML: {}", error.msg),
                     "put the line right; YAML is 'key: value'");
  }
}

}  // namespace lacuna
