#include "train/graph/model_file.hpp"

#include <algorithm>

#include "base/embedded_file.hpp"
#include "base/error.hpp"
#include "base/io/yaml/yaml_reader.hpp"
#include "base/text/nearest.hpp"
#include "train/graph/model_reader.hpp"

namespace lacuna {
std::span<const EmbeddedFile> embedded_models();  // cmake/LacunaEmbed.cmake
}

namespace lacuna::train {
namespace {

constexpr YamlKind kKind{"a model", "see configs/models/vgg-small.yaml"};

template <typename Action>
auto with_reader(std::string_view text, const std::string& where, const Action& action) {
  return YamlReader(where).load(text, kKind, [&](const YAML::Node& root) {
    if (!is_utf8(text)) throw InputError(where, "the file is not UTF-8 text", "save it as UTF-8");
    ModelReader reader(where, root);
    return action(reader);
  });
}

}  // namespace

Graph parse_model(std::string_view text, const std::string& where, const ModelSettings& settings) {
  return with_reader(text, where, [&](ModelReader& reader) { return reader.read(settings); });
}

ModelSummary summarize_model(std::string_view text, const std::string& where) {
  return with_reader(text, where, [](ModelReader& reader) { return reader.summary(); });
}

std::string model_text(const std::string& name) {
  std::vector<std::string> known;
  for (const EmbeddedFile& file : embedded_models()) {
    if (file.stem() == name) return std::string(file.bytes);
    known.emplace_back(file.stem());
  }
  if (std::filesystem::path(name).extension() != ".yaml")
    throw InputError("--model " + name, "there is no such model",
                     suggest(name, known) + ", or give a .yaml file");
  return read_yaml_file(name);
}

Graph open_model(const std::string& name, const ModelSettings& settings) {
  return parse_model(model_text(name), name, settings);
}

std::vector<ModelSummary> built_in_models() {
  std::vector<ModelSummary> models;
  for (const EmbeddedFile& file : embedded_models()) {
    ModelSummary summary = summarize_model(file.bytes, std::string(file.name));
    summary.name = file.stem();
    models.push_back(std::move(summary));
  }
  std::ranges::sort(models, {}, &ModelSummary::name);
  return models;
}

}  // namespace lacuna::train
