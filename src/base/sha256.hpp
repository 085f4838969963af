// SHA-256 (FIPS 180-4): identifies a file by its content.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lacuna {

// The sum of bytes that arrive in pieces.
class Sha256 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  // Returns 64 lower-case hexadecimal digits, as `sha256sum` prints them, and resets.
  std::string hex();

 private:
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};  // input that does not fill a block yet
  std::size_t held_ = 0;                  // bytes of it
  std::uint64_t size_ = 0;                // bytes in all
};

std::string sha256_hex(std::span<const std::uint8_t> bytes);
inline std::string sha256_hex(std::string_view text) {
  return sha256_hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Throws InputError if it is not a plain file that can be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace lacuna
