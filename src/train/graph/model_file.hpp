// Networks described in YAML: docs/training.md has the format. Everything is checked here: a graph that comes
// out of parse_model() can be built.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/graph/graph.hpp"

namespace lacuna::train {

// Values for the `parameters` of a model ("classes", "size", ...), by name; they replace the file's own.
using ModelSettings = std::map<std::string, std::string>;

struct ModelParameter {
  std::string name;
  std::string value;  // the default
};
struct ModelSummary {
  std::string name;
  std::string about;
  std::vector<ModelParameter> parameters;
};

// Throws InputError (file, line, what, what to do); `where` is the file's name.
Graph parse_model(std::string_view text, const std::string& where, const ModelSettings& settings);
ModelSummary summarize_model(std::string_view text, const std::string& where);

// `name` is one of the built-in models (configs/models, part of the program) or a .yaml file.
Graph open_model(const std::string& name, const ModelSettings& settings);
std::vector<ModelSummary> built_in_models();
// Returns the text behind a name, as open_model() finds it.
std::string model_text(const std::string& name);

}  // namespace lacuna::train
