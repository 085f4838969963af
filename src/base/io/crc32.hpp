// CRC-32 (IEEE 802.3), as zlib and Python's binascii compute it: notices damage, not intent.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lacuna {

// Continues from the sum of what came before.
std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t before = 0);

inline std::uint32_t crc32(std::string_view text, std::uint32_t before = 0) {
  return crc32({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, before);
}

}  // namespace lacuna
