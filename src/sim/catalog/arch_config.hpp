// A machine described in YAML (docs/configuration.md):
//   name: tensordash-8rows      optional: what results call it
//   arch: tensordash            a model, a named configuration or a .yaml file to start from (`base` means
//                               the same)
//   summary: twice the rows     optional
//   rows: 8                     parameters, here or under `params:`
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// One parameter as it was written, and where ("my.yaml:4"), for messages.
struct ArchSetting {
  std::string key;
  std::string value;
  std::string origin;
};

struct ArchConfig {
  std::string name;
  std::string base;
  std::string base_origin;
  std::string summary;
  std::vector<ArchSetting> settings;

  // Throws InputError with file and line for what is not such a description. Which keys and values are
  // allowed is for the model to say (ArchCatalog). Lists become text: "[[0,0],[1,0]]".
  static ArchConfig parse(std::string_view yaml, const std::string& file);
};

}  // namespace lacuna
