#include <cstring>

#include "base/io/zstd_reader.hpp"

namespace lacuna {

// [RFC 8878 §3.1.1, §3.1.2]
bool is_zstd(std::span<const std::uint8_t> bytes) {
  constexpr std::uint32_t kFrame = 0xFD2FB528U, kSkippable = 0x184D2A50U;  // 16 of the latter
  if (bytes.size() < 4) return false;
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), 4);
  return magic == kFrame || (magic & ~0xFU) == kSkippable;
}

}  // namespace lacuna
