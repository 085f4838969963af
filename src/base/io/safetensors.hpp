// The safetensors container: 8 bytes of header length (little endian), a JSON header, raw tensors.
// The reader trusts nothing: docs/trace-format.md lists what it checks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/byte_source.hpp"

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

// Returns the tensors of `source`, a file that may be compressed. `source` becomes what they point into:
// itself, or what it decompresses to. Of a compressed file no more is decompressed than its header declares,
// and that only after the header has been checked; a file that decompresses to more than `limit` bytes is
// refused. Throws InputError; `where` starts the message.
Safetensors read_safetensors(std::unique_ptr<ByteSource>& source, const std::string& where,
                             std::uint64_t limit);

// A tensor of a file that is to be written.
struct SafetensorsItem {
  std::string name;
  std::string_view dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

// The start of a file: the length and the header, padded so that the data, which follows in the order of
// `items`, begins at a multiple of 8. Throws nlohmann's exception for text that is not UTF-8.
std::string safetensors_start(const nlohmann::ordered_json& metadata,
                              const std::vector<SafetensorsItem>& items);

// Bytes of one element of a safetensors type ("F32"), 0 for an unknown one.
std::int64_t safetensors_element_bytes(std::string_view dtype);

// "[2, 56, 56, 8]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace lacuna
