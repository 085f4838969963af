#include "base/io/yaml/yaml_reader.hpp"

#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <yaml-cpp/eventhandler.h>

#include "base/io/byte_source.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

// Counts the nodes of a document and refuses one that is nested too deep. The parser calls itself for each
// level, after it has told the handler, so that this also bounds the stack it takes: yaml-cpp's own limit of
// 500 levels takes several hundred kilobytes.
class CountingHandler final : public YAML::EventHandler {
 public:
  explicit CountingHandler(const std::string& file) : file_(file) {}

  int nodes = 0;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { ++nodes; }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {
    ++nodes;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void begin(const YAML::Mark& mark) {
    ++nodes;
    if (++depth_ > kDeepestYaml) {
      throw InputError(fmt::format("{}:{}", file_, mark.line + 1),
                       fmt::format("lists and maps are nested more than {} deep", kDeepestYaml),
                       "write it with fewer levels");
    }
  }

  const std::string& file_;
  int depth_ = 0;
};

// YAML::Load() ignores what follows the first document, and YAML::LoadAll() never ends on some texts ("a #
// b", then ", c" on the next line: the parser reports one document after another and stays where it is). So
// only two documents are read.
void check_one_document(const std::string& text, const std::string& file, const YamlKind& kind) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  CountingHandler first(file);
  if (!parser.HandleNextDocument(first) || first.nodes == 0)
    throw InputError(file, "it is empty", kind.remedy);
  CountingHandler second(file);
  if (parser.HandleNextDocument(second) && second.nodes > 0)
    throw InputError(file, "it holds more than one document", "keep one, without '---'");
}

// YAML allows no control characters. yaml-cpp takes byte 4 for the end of the text and would silently drop
// whatever follows it. This also catches UTF-16, where half of the bytes are zero.
void check_is_text(std::string_view text, const std::string& file) {
  int line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') ++line;
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) {
      throw InputError(fmt::format("{}:{}", file, line), fmt::format("the byte 0x{:02x} is not text", byte),
                       "save the file as plain text in UTF-8");
    }
  }
}

}  // namespace

YAML::Node load_yaml(std::string_view text, const std::string& file, const YamlKind& kind) {
  if (text.size() > kLargestYaml)
    throw InputError(file, "larger than 1 MB", fmt::format("this is not {}", kind.what));
  check_is_text(text, file);
  try {
    const std::string copy(text);
    check_one_document(copy, file, kind);
    YAML::Node root = YAML::Load(copy);
    if (!root.IsMap()) {
      throw InputError(root.Mark().line < 0 ? file : fmt::format("{}:{}", file, root.Mark().line + 1),
                       "this is not a list of 'key: value' lines", kind.remedy);
    }
    return root;
  } catch (const YAML::Exception& error) {
    throw yaml_error(error, file);
  }
}

std::string read_yaml_file(const std::string& path) { return read_text_file(path, kLargestYaml + 1); }

InputError yaml_error(const YAML::Exception& error, const std::string& file) {
  // yaml-cpp repeats what it read, which must not break the line of the message.
  return {error.mark.line < 0 ? file : fmt::format("{}:{}", file, error.mark.line + 1),
          fmt::format("not YAML: {}", one_line(error.msg)), "correct the line; YAML is 'key: value'"};
}

std::string YamlReader::place(const YAML::Node& at) const {
  const bool known = at.IsDefined() && at.Mark().line >= 0;
  if (!known) return file_ + part_;
  const std::string line = fmt::format("{}:{}", file_, at.Mark().line + 1);
  return (places_ == Places::kColumns ? fmt::format("{}:{}", line, at.Mark().column + 1) : line) + part_;
}

void YamlReader::fail(const YAML::Node& at, std::string_view cause, std::string_view remedy) const {
  throw InputError(place(at), cause, remedy);
}

void YamlReader::check_map(const YAML::Node& map, std::string_view what) const {
  if (!map.IsMap())
    fail(map, fmt::format("{} is not a list of 'key: value' lines", what), "write key: value under it");
}

const std::string& YamlReader::check_key(const YAML::Node& key, std::set<std::string>& seen) const {
  if (!key.IsScalar()) fail(key, "a key is not a word", "write key: value");
  const auto [at, added] = seen.insert(key.Scalar());
  if (!added)
    fail(key, fmt::format("the key {} is there twice", quote_name(key.Scalar())), "remove one of them");
  return *at;
}

std::string YamlReader::text(const YAML::Node& at, std::string_view key, const YAML::Node& value,
                             std::string_view remedy) const {
  if (!value.IsDefined() || !value.IsScalar() || value.Scalar().empty())
    fail(at, fmt::format("{} has no value", quote_name(key)), remedy);
  if (value.Scalar().size() > kLongestText)
    fail(at, fmt::format("{} is too long", quote_name(key)), "shorten it");
  return value.Scalar();
}

double YamlReader::number(const YAML::Node& at, std::string_view key, const YAML::Node& value) const {
  const std::string written = text(at, key, value);
  const auto number = parse_number<double>(written);
  if (!number || !std::isfinite(*number)) {
    fail(at, fmt::format("{} is {}, not a finite number", quote_name(key), quote_name(written)),
         "write a number");
  }
  if (*number < 0)
    fail(at, fmt::format("{} is negative ({})", quote_name(key), written), "write a number from 0");
  return *number;
}

}  // namespace lacuna
