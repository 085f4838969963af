// IEEE half precision under loss scaling: the 11 significant bits of a half, with a single's exponents.
#pragma once

#include <bit>
#include <cstdint>

namespace lacuna {

// ASSUMPTION(A30): training in half precision scales the loss so that values keep within a half's exponents
// [TensorDash ref. 17]. A trace does not say by how much, so only the significand is rounded: to nearest,
// ties to even; a NaN stays a (quiet) NaN.
constexpr float round_to_scaled_half(float value) {
  constexpr std::uint32_t kDropped = 13;  // of a single's 23 stored bits
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return std::bit_cast<float>(bits | 0x400000U);
  const std::uint32_t half = (1U << (kDropped - 1)) - 1 + ((bits >> kDropped) & 1U);
  return std::bit_cast<float>((bits + half) & ~((1U << kDropped) - 1));
}

// The smallest that is not zero.
inline constexpr float kSmallestScaledHalf = std::bit_cast<float>(std::uint32_t{1} << 13);

}  // namespace lacuna
