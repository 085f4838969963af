// The safetensors container: 8 bytes of header length (little endian), a JSON header, raw tensors.
// The reader trusts nothing: docs/trace-format.md lists what it checks.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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

// The same in steps, for a file of which only the start is there.

// How many bytes the header takes together with its length. `start` is the file's first kSafetensorsStart
// bytes, or all of a shorter file; a length that the format does not allow, or one beyond `file_bytes` where
// that is known, is refused.
constexpr std::size_t kSafetensorsStart = 9;
std::uint64_t safetensors_header_bytes(std::span<const std::uint8_t> start,
                                       std::optional<std::uint64_t> file_bytes, const std::string& where);

// A checked header: its tensors follow each other without holes.
class SafetensorsHeader {
 public:
  // `bytes` are as many as safetensors_header_bytes() said, or fewer if the file ends before.
  SafetensorsHeader(std::span<const std::uint8_t> bytes, std::optional<std::uint64_t> file_bytes,
                    const std::string& where);

  // The size of the file according to its header.
  std::uint64_t file_bytes() const { return header_bytes_ + data_bytes_; }

  // The tensors in the whole file, which must have the size that the header declares.
  Safetensors in(std::span<const std::uint8_t> file) &&;

 private:
  void check_outside(std::uint64_t data_bytes) const;
  void check_coverage() const;

  // A tensor and the range of bytes that the header claims for it.
  struct Claim {
    SafetensorsEntry entry;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  static Claim read_claim(std::string name, const nlohmann::json& value,
                          std::optional<std::uint64_t> data_bytes, const std::string& where);

  std::string where_;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<Claim> claims_;  // in the order of their bytes
};

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
