// Bits as bytes, to count eight of them in one addition of 64 bits.
#pragma once

#include <array>
#include <cstdint>

namespace lacuna::cnvlutin {

constexpr std::array<std::uint64_t, 256> make_spread() {
  std::array<std::uint64_t, 256> spread{};
  for (std::size_t b = 0; b < 256; ++b) {
    for (std::size_t i = 0; i < 8; ++i) spread[b] |= static_cast<std::uint64_t>((b >> i) & 1) << (8 * i);
  }
  return spread;
}

// kSpread[b]: each bit of b as a separate byte. Sums of up to 255 of them do not overflow.
inline constexpr std::array<std::uint64_t, 256> kSpread = make_spread();

}  // namespace lacuna::cnvlutin
