// SHA-256 (FIPS 180-4), by libnettle: identifies a file by its content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lacuna {

// Returns 64 lower-case hexadecimal digits, as `sha256sum` prints them.
std::string sha256_hex(std::span<const std::uint8_t> bytes);
inline std::string sha256_hex(std::string_view text) {
  return sha256_hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Throws InputError if it is not a plain file that can be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace lacuna
