#include "base/io/yaml/load_yaml.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <yaml-cpp/eventhandler.h>

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

std::string read_yaml_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw InputError(path, "there is no such file", "check the name and the folder");
  // A pipe would block, a device may never end.
  if (std::filesystem::is_directory(path, ignored) || !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(path,
                     std::filesystem::is_directory(path, ignored) ? "this is a folder, not a file"
                                                                  : "this is a pipe or a device, not a file",
                     "write its content to a file and give that");
  }
  // Files of /proc have no size, and reading some of them waits or never ends: they count as empty.
  if (std::filesystem::file_size(path, ignored) == 0) return "";
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(kLargestYaml + 1, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.bad() || !stream.is_open()) throw InputError(path, "cannot be read", "check its permissions");
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

InputError yaml_error(const YAML::Exception& error, const std::string& file) {
  // yaml-cpp repeats what it read, which must not break the line of the message.
  return {error.mark.line < 0 ? file : fmt::format("{}:{}", file, error.mark.line + 1),
          fmt::format("not YAML: {}", one_line(error.msg)), "correct the line; YAML is 'key: value'"};
}

}  // namespace lacuna
