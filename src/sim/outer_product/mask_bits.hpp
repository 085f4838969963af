// Visiting the set bits of a mask's row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace lacuna::outer_product {

// Calls visit(c - first) for each set bit c in [first, end) of a row of a MaskView. Reads no byte past the
// one that holds bit end - 1.
template <typename Visit>
void for_each_bit(const std::uint8_t* row, std::int64_t first, std::int64_t end, const Visit& visit) {
  const std::int64_t end_byte = (end + 7) / 8;
  for (std::int64_t byte = first / 8; byte < end_byte; byte += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, row + byte, static_cast<std::size_t>(std::min<std::int64_t>(8, end_byte - byte)));
    const std::int64_t base = byte * 8;
    if (base < first) word &= ~std::uint64_t{0} << (first - base);
    if (end - base < 64) word &= (std::uint64_t{1} << (end - base)) - 1;
    for (; word != 0; word &= word - 1) visit(base + std::countr_zero(word) - first);
  }
}

}  // namespace lacuna::outer_product
