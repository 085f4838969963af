// Integer division that rounds up.
#pragma once

#include <cassert>
#include <cstdint>

namespace lacuna {

// Returns the smallest integer not below dividend / divisor. The divisor is positive; the dividend may be any
// number, negative ones included (ceil_div(-5, 2) == -2), and nothing overflows.
constexpr std::int64_t ceil_div(std::int64_t dividend, std::int64_t divisor) {
  assert(divisor > 0);
  return dividend / divisor + (dividend % divisor > 0 ? 1 : 0);
}

}  // namespace lacuna
