// Views of a tensor's non-zeros and of its values. Both are [rows, channels] with channels last: the rows are
// the leading dimensions (n,h,w for A; n,ho,wo for G; k,kh,kw for W) flattened.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/data_type.hpp"

namespace lacuna {

// An effectual mask: bit 1 means the value is NOT zero. Little bit order inside bytes; bits past `channels`
// are 0. A view does not own its bytes. `row_bytes` 0 means that all rows share the same bytes (a tensor
// without zeros).
struct MaskView {
  const std::uint8_t* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t row_bytes = 0;

  // True if it is known, without counting, that no value is zero.
  bool no_zeros() const { return row_bytes == 0; }
  const std::uint8_t* row(std::int64_t r) const { return data + r * row_bytes; }
  bool bit(std::int64_t r, std::int64_t channel) const { return (row(r)[channel / 8] >> (channel % 8)) & 1; }
  // Up to 64 bits of a row from channel `first` on, the first one lowest.
  std::uint64_t bits(std::int64_t r, std::int64_t first, std::int64_t count) const;
  // Bytes of one row that may be read.
  std::int64_t readable_bytes() const { return (channels + 7) / 8; }
};

// Values as stored; `data` may be unaligned (safetensors promises nothing).
struct ValueView {
  const std::uint8_t* data = nullptr;  // null: the trace holds masks only
  DataType type = DataType::kFp32;
  std::int64_t rows = 0;
  std::int64_t channels = 0;

  explicit operator bool() const { return data != nullptr; }
  float at(std::int64_t r, std::int64_t channel) const {
    return load_value(type, data + (r * channels + channel) * bytes_of(type));
  }
};

// Number of set bits among the channels of all rows.
std::int64_t count_nonzeros(const MaskView& mask);

// counts[r] = number of set bits of row r in channels [first, first + channels).
void count_rows(const MaskView& mask, std::int64_t first, std::int64_t channels, std::int64_t* counts);

}  // namespace lacuna
