// Small pieces of JSON text, for writers that lay out their lines themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// In quotes and escaped. Bytes that are not UTF-8 (a file's name may hold any) become U+FFFD.
std::string json_string(std::string_view text);

// An integer where the value is one; otherwise the shortest text that reads back as the same number. What is
// not finite becomes null.
std::string json_number(double value);

// One object on one line: {"a": 1, "b": "c"}
class JsonLine {
 public:
  JsonLine& field(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }
  JsonLine& field(std::string_view name, double value) { return raw(name, json_number(value)); }
  JsonLine& field(std::string_view name, std::string_view value) { return raw(name, json_string(value)); }
  JsonLine& raw(std::string_view name, std::string_view json);
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// A document: the schema's version, the program's, and a list of objects that are laid out for it (indented
// by four).
std::string json_document(std::string_view list, const std::vector<std::string>& items);

}  // namespace lacuna
