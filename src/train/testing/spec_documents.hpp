// Documents that follow from train_options(): the schema of config.json and the table in docs/training.md.
#pragma once

#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "train/run/run_config.hpp"

namespace lacuna::train {

using nlohmann::ordered_json;

inline ordered_json value_schema(const TrainOption& option) {
  const ParamSpec& spec = option.spec;
  const bool of_method = option.config.starts_with("/prune/") || option.config.starts_with("/sparsify/");
  ordered_json schema;
  if (!spec.choices.empty()) {
    schema["enum"] = spec.choices;
    if (of_method) schema["enum"].erase(0);  // "none": there is no object then
  } else {
    static const std::map<ParamSpec::Kind, const char*> kTypes = {{ParamSpec::Kind::kInteger, "integer"},
                                                                  {ParamSpec::Kind::kNumber, "number"},
                                                                  {ParamSpec::Kind::kFlag, "boolean"},
                                                                  {ParamSpec::Kind::kText, "string"}};
    const bool text = spec.kind == ParamSpec::Kind::kText;
    const bool unset = !of_method && spec.default_value.empty() && (option.before == "" || text);
    schema["type"] = kTypes.at(spec.kind);
    if (unset) schema["type"] = {kTypes.at(spec.kind), "null"};
    if (spec.kind == ParamSpec::Kind::kInteger || spec.kind == ParamSpec::Kind::kNumber) {
      const bool exclusive = spec.min > 0 && spec.min < 1e-6;
      const double low = spec.default_value == "0" || exclusive ? 0 : spec.min;
      schema[exclusive ? "exclusiveMinimum" : "minimum"] = static_cast<std::int64_t>(low);
      if (spec.max < 1e12) {
        if (spec.kind == ParamSpec::Kind::kInteger)
          schema["maximum"] = static_cast<std::int64_t>(spec.max);
        else
          schema["maximum"] = spec.max;
      }
    }
  }
  schema["description"] =
      option.group.empty() ? spec.help + "." : fmt::format("--{}: {}.", spec.name, spec.help);
  if (option.before && !option.before->empty())
    schema["description"] = fmt::format("{} Absent in files of earlier versions: {}.",
                                        schema["description"].get<std::string>(), *option.before);
  return schema;
}

// docs/schema/train-config-v1.schema.json
inline std::string config_schema() {
  const auto whole = [](int low) { return ordered_json{{"type", "integer"}, {"minimum", low}}; };
  const ordered_json text{{"type", "string"}};
  const auto object = [](ordered_json properties, ordered_json required) {
    return ordered_json{{"type", "object"},
                        {"properties", std::move(properties)},
                        {"required", std::move(required)},
                        {"additionalProperties", false}};
  };
  ordered_json schema{
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", "train-config-v1.schema.json"},
      {"title", "config.json of lacuna train, version 1"},
      {"description",
       "Everything that a training was asked to do, with defaults filled in. --resume takes its options from "
       "here. Made from the table in src/train/run/train_spec.cpp."}};
  schema.update(
      object({{"schema", {{"const", kRunConfigSchema}}},
              {"lacuna", {{"type", "string"}, {"description", "Version of the program."}}}},
             {"schema", "lacuna", "model_settings", "network", "parameters", "data", "prune", "log"}));
  std::map<std::string, ordered_json> objects;  // of nested options
  for (const char* name : {"data", "prune", "sparsify"}) objects[name] = object({}, ordered_json::array());
  objects["data"]["required"] = {"name",   "train_images", "test_images", "channels",
                                 "height", "width",        "classes"};
  for (const TrainOption& option : train_options()) {
    if (option.config.empty()) continue;
    const std::size_t slash = option.config.rfind('/');
    const std::string name = option.config.substr(slash + 1);
    ordered_json& in = slash == 0 ? schema : objects.at(option.config.substr(1, slash - 1));
    in["properties"][name] = value_schema(option);
    if (!option.before || name == "method") in["required"].push_back(name);
    if (slash > 0) schema["properties"][option.config.substr(1, slash - 1)] = nullptr;  // its place
  }
  objects["data"]["properties"].update({{"name", text},
                                        {"train_images", whole(1)},
                                        {"test_images", whole(0)},
                                        {"channels", whole(1)},
                                        {"height", whole(1)},
                                        {"width", whole(1)},
                                        {"classes", whole(1)}});
  schema["properties"]["data"] = objects["data"];
  for (const char* name : {"prune", "sparsify"})
    schema["properties"][name] = {{"description", fmt::format("--{}; null: not used.", name)},
                                  {"oneOf", {{{"type", "null"}}, objects[name]}}};
  schema["properties"].update(
      {{"model_settings", {{"type", "object"}, {"additionalProperties", text}}},
       {"network",
        {{"type", "string"}, {"description", "Fingerprint of the graph; a checkpoint holds the same."}}},
       {"parameters", whole(0)},
       {"demo",
        {{"const", true}, {"description", "A run of lacuna demo, which another demo may overwrite."}}},
       {"log", object({{"file", {{"const", "log.csv"}}}, {"schema", {{"const", kTrainLogSchema}}}},
                      {"file", "schema"})}});
  return schema.dump(2) + "\n";
}

// The table of options in docs/training.md.
inline std::string options_table() {
  std::string table =
      "| option | default | meaning | `config.json` | on `--resume` |\n|---|---|---|---|---|\n";
  for (const TrainOption& option : train_options()) {
    if (option.group.empty()) continue;
    std::string value = option.placeholder;
    for (std::size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 2) value.insert(at, "\\");
    const bool shown =
        !option.spec.default_value.empty() && option.spec.default_value != "0" && !option.is_flag();
    table += fmt::format("| `--{}{}{}` | {} | {} | {} | {} |\n", option.spec.name, value.empty() ? "" : " ",
                         value, shown ? fmt::format("`{}`", option.spec.default_value) : "", option.spec.help,
                         option.config.empty() ? "" : fmt::format("`{}`", option.config),
                         option.config.empty() ? ""
                         : option.may_change   ? "may change"
                                               : "as before");
  }
  return table;
}

}  // namespace lacuna::train
