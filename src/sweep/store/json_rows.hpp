// JSON documents of the sweep's commands: a list of rows, one per line.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"

namespace lacuna::sweep {

using Json = nlohmann::ordered_json;

// An integer where the value is one; null for what is not finite.
inline Json number_json(double value) {
  if (!std::isfinite(value)) return nullptr;
  // Below 2^53 every integer is a double, and nothing is lost by writing it as one.
  if (value == std::floor(value) && std::abs(value) < 0x1p53) return static_cast<std::int64_t>(value);
  return value;
}

// Bytes that are not UTF-8 (a file's name may hold any) become U+FFFD.
inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonRows {
 public:
  void add(const Json& row) { text_ += (text_.empty() ? "\n" : ",\n") + dump(row); }
  // {"schema": 1, "lacuna": "0.1.0", ... `more`, `list`: [rows]}
  std::string document(std::string_view list, Json more = Json::object()) const {
    Json head{{"schema", 1}, {"lacuna", version()}};
    head.update(more);
    head[std::string(list)] = Json::array();
    std::string text = dump(head);
    text.insert(text.size() - 2, text_ + "\n");  // before "]}"
    return text + "\n";
  }

 private:
  std::string text_;
};

}  // namespace lacuna::sweep
