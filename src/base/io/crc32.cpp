#include "base/io/crc32.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace lacuna {
namespace {

static_assert(std::endian::native == std::endian::little);

// Table `k` advances a byte past the `k` bytes that follow it, so that sixteen are looked up independently.
constexpr std::size_t kAtOnce = 16;
using Tables = std::array<std::array<std::uint32_t, 256>, kAtOnce>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t k = 1; k < kAtOnce; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kAtOnce; at += kAtOnce, left -= kAtOnce) {
    std::array<std::uint32_t, kAtOnce / 4> words;
    std::memcpy(words.data(), at, kAtOnce);
    words[0] ^= sum;
    sum = 0;
    for (std::size_t i = 0; i < kAtOnce; ++i)
      sum ^= kTables[kAtOnce - 1 - i][(words[i / 4] >> (8 * (i % 4))) & 0xff];
  }
  for (; left > 0; ++at, --left) sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 0xff];
  return ~sum;
}

}  // namespace lacuna
