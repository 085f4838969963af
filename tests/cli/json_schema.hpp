// Checks JSON against a JSON Schema: the keywords that docs/schema uses. A keyword that is not known here is
// itself an error, so that no part of a schema goes unchecked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lacuna::testing {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  // One line for each violation: "/runs/0/seed: ...". Empty if the document is valid.
  std::vector<std::string> violations(const nlohmann::json& document) const;

 private:
  void check(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at,
             std::vector<std::string>& found) const;
  void check_object(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at,
                    std::vector<std::string>& found) const;

  nlohmann::json root_;
};

}  // namespace lacuna::testing
