// SHA-256 (FIPS 180-4), by which data/MANIFEST.csv knows its files.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lacuna::reproduce {

// 64 lower-case hexadecimal digits, as `sha256sum` prints them.
std::string sha256_hex(std::span<const std::uint8_t> bytes);

}  // namespace lacuna::reproduce
