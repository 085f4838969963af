#include "sweep/answers/design_settings.hpp"

#include <nlohmann/json.hpp>

namespace lacuna::sweep {

namespace {

Value value_of_json(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return value_of_text(json.get_ref<const std::string&>());
  return {};
}

}  // namespace

std::map<std::string, Value> settings_of(const std::string& configuration, const std::string& machine,
                                         const std::string& model) {
  std::map<std::string, Value> settings;
  const nlohmann::json json = nlohmann::json::parse(configuration, nullptr, false);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) settings[name] = value_of_json(value);
  }
  settings["machine"] = machine;
  settings["model"] = model;
  return settings;
}

}  // namespace lacuna::sweep
