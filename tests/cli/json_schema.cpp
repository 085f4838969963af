#include "cli/json_schema.hpp"

#include <algorithm>
#include <set>

namespace lacuna::testing {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return false;
}

}  // namespace

std::vector<std::string> JsonSchema::violations(const json& document) const {
  std::vector<std::string> found;
  check(root_, document, "", found);
  return found;
}

void JsonSchema::check(const json& schema, const json& value, const std::string& at,
                       std::vector<std::string>& found) const {
  static const std::set<std::string> kAnnotations{"$schema", "$id", "$defs", "title", "description"};
  static const std::set<std::string> kObject{"properties", "required", "additionalProperties"};
  for (const auto& [keyword, rule] : schema.items()) {
    if (kAnnotations.contains(keyword)) continue;
    if (keyword == "$ref") {
      check(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), value, at, found);
    } else if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      if (std::ranges::none_of(types,
                               [&](const json& type) { return has_type(value, type.get<std::string>()); })) {
        found.push_back(at + ": is not of type " + rule.dump());
      }
    } else if (keyword == "const") {
      if (value != rule) found.push_back(at + ": is not " + rule.dump());
    } else if (keyword == "enum") {
      if (std::ranges::find(rule, value) == rule.end())
        found.push_back(at + ": is not one of " + rule.dump());
    } else if (keyword == "oneOf") {
      std::vector<std::string> first;
      const auto fits = [&](const json& alternative) {
        std::vector<std::string> wrong;
        check(alternative, value, at, wrong);
        if (first.empty()) first = wrong;
        return wrong.empty();
      };
      const auto count = std::ranges::count_if(rule, fits);
      if (count == 0) found.insert(found.end(), first.begin(), first.end());
      if (count > 1) found.push_back(at + ": fits more than one alternative");
    } else if (keyword == "minimum" || keyword == "exclusiveMinimum" || keyword == "maximum") {
      if (!value.is_number()) continue;
      const bool outside = keyword == "minimum"   ? value < rule
                           : keyword == "maximum" ? value > rule
                                                  : value <= rule;
      if (outside) found.push_back(at + ": is outside its " + keyword);
    } else if (keyword == "items") {
      if (!value.is_array()) continue;
      for (std::size_t i = 0; i < value.size(); ++i)
        check(rule, value[i], at + "/" + std::to_string(i), found);
    } else if (!kObject.contains(keyword)) {
      found.push_back(at + ": the schema's keyword '" + keyword + "' is not known to this checker");
    }
  }
  if (value.is_object()) check_object(schema, value, at, found);
}

void JsonSchema::check_object(const json& schema, const json& value, const std::string& at,
                              std::vector<std::string>& found) const {
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) found.push_back(at + ": lacks " + name.dump());
  }
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, member] : value.items()) {
    const std::string place = at + "/" + name;
    if (properties.contains(name)) {
      check(properties.at(name), member, place, found);
    } else if (schema.contains("additionalProperties")) {
      const json& rule = schema.at("additionalProperties");
      if (rule.is_boolean()) {
        if (!rule.get<bool>()) found.push_back(place + ": is not expected");
      } else {
        check(rule, member, place, found);
      }
    }
  }
}

}  // namespace lacuna::testing
