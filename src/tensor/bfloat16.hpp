// bfloat16: the upper half of an IEEE single.
#pragma once

#include <bit>
#include <cstdint>

namespace lacuna {

constexpr float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Round to nearest, ties to even; a NaN stays a (quiet) NaN.
constexpr std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

constexpr float round_to_bfloat16(float value) { return bfloat16_to_float(float_to_bfloat16(value)); }

}  // namespace lacuna
