#include "base/io/sha256/sha256.hpp"

#include <array>
#include <fmt/format.h>
#include <nettle/sha2.h>

#include "base/io/byte_source.hpp"

namespace lacuna {

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, bytes.size(), bytes.data());
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return sha256_hex(ByteSource::open(path)->bytes());
}

}  // namespace lacuna
