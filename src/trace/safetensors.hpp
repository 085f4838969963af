// The safetensors container: 8 bytes of header length (little endian), a JSON header, raw tensors.
// The reader trusts nothing: docs/trace-format.md lists what it checks.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// One tensor of a file; `data` points into the bytes that were parsed.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> data;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes

  // Throws InputError; `where` (the file's name) starts the message. The result refers to `bytes`.
  static Safetensors parse(std::span<const std::uint8_t> bytes, const std::string& where);
};

// Bytes of one element of a safetensors type ("F32"), 0 for an unknown one.
std::int64_t safetensors_element_bytes(std::string_view dtype);

// JSON from a file: refuses keys that occur twice and nesting beyond what a trace needs. `where` and `what`
// ("the header") start the message.
nlohmann::json parse_untrusted_json(std::string_view text, const std::string& where, std::string_view what);

// "[2, 56, 56, 8]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace lacuna
