// The checksum in a trace's metadata: over the other metadata and every tensor with its name, type and shape,
// in the order of their names, so that it does not depend on how a file lays them out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/safetensors.hpp"
#include "trace/format/trace_info.hpp"

namespace lacuna {

inline constexpr const char* kChecksumKey = "checksum";

class TraceChecksum {
 public:
  explicit TraceChecksum(const TextMap& metadata);
  // Tensors come in the order of their names, each followed by its bytes in any number of pieces.
  void tensor(std::string_view name, std::string_view dtype, const std::vector<std::int64_t>& shape);
  void bytes(std::span<const std::uint8_t> piece);
  // "crc32:" and eight hexadecimal digits.
  std::string text() const;

 private:
  std::uint32_t sum_ = 0;
};

// Throws InputError if the file has a checksum and it differs. Files of other recorders may have none.
void check_checksum(const Safetensors& file, const std::string& where);

}  // namespace lacuna
