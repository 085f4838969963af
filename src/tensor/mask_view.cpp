#include "tensor/mask_view.hpp"

#include <bit>

namespace lacuna {
namespace {

std::int64_t count_bytes(const std::uint8_t* bytes, std::int64_t size) {
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    count += std::popcount(word);
  }
  for (; i < size; ++i) count += std::popcount(bytes[i]);
  return count;
}

}  // namespace

std::int64_t count_nonzeros(const MaskView& mask) {
  if (mask.rows == 0) return 0;
  // Bits past the channels are zero by contract, so whole bytes can be counted.
  if (mask.row_bytes == 0) return mask.rows * count_bytes(mask.data, mask.readable_bytes());
  if (mask.row_bytes == mask.readable_bytes()) return count_bytes(mask.data, mask.rows * mask.row_bytes);
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < mask.rows; ++r) count += count_bytes(mask.row(r), mask.readable_bytes());
  return count;
}

}  // namespace lacuna
