#include "trace/mask_build.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "base/error.hpp"

namespace lacuna {
namespace {

// The mask of one row. Returns false if some value is a NaN or an infinity. It works on bits only, so that
// the compiler turns each group of eight into a few vector instructions; the bad value is searched for later.
template <typename Word>
bool mask_row(const std::uint8_t* values, std::int64_t channels, Word not_finite, std::uint8_t* out) {
  constexpr Word kMagnitude = static_cast<Word>(~Word{0}) >> 1;
  bool finite = true;
  for (std::int64_t c = 0; c < channels; c += 8) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(8, channels - c));
    Word words[8] = {};
    std::memcpy(words, values + c * static_cast<std::int64_t>(sizeof(Word)), count * sizeof(Word));
    unsigned bits = 0;
    unsigned special = 0;
    for (unsigned i = 0; i < 8; ++i) {
      bits |= static_cast<unsigned>((words[i] & kMagnitude) != 0) << i;
      special |= static_cast<unsigned>((words[i] & not_finite) == not_finite);
    }
    out[c / 8] = static_cast<std::uint8_t>(bits);
    finite &= special == 0;
  }
  return finite;
}

bool mask_row(const ValueView& values, std::int64_t r, std::uint8_t* out) {
  const std::uint8_t* row = values.data + r * values.channels * bytes_of(values.type);
  const std::uint32_t not_finite = facts_of(values.type).not_finite;
  switch (bytes_of(values.type)) {
    case 4:
      return mask_row<std::uint32_t>(row, values.channels, not_finite, out);
    case 2:
      return mask_row<std::uint16_t>(row, values.channels, static_cast<std::uint16_t>(not_finite), out);
    default:
      return mask_row<std::uint8_t>(row, values.channels, static_cast<std::uint8_t>(not_finite), out);
  }
}

[[noreturn]] void throw_not_finite(const ValueView& values, std::int64_t r, const std::string& place) {
  std::int64_t c = 0;
  while (std::isfinite(values.at(r, c))) ++c;
  throw InputError(place,
                   fmt::format("element {} (row {}, channel {}) is {}", r * values.channels + c, r, c,
                               std::isnan(values.at(r, c)) ? "NaN" : "infinite"),
                   "the training diverged at this step; record another one");
}

}  // namespace

void mask_from_values(const ValueView& values, std::uint8_t* out, const std::string& place) {
  const std::int64_t row_bytes = (values.channels + 7) / 8;
  for (std::int64_t r = 0; r < values.rows; ++r) {
    if (!mask_row(values, r, out + r * row_bytes)) throw_not_finite(values, r, place);
  }
}

void check_mask_tails(const MaskView& mask, const std::string& place) {
  const auto tail_bits = static_cast<unsigned>(mask.channels % 8);
  if (tail_bits == 0) return;
  const auto forbidden = static_cast<std::uint8_t>(0xffU << tail_bits);
  const std::int64_t last = mask.readable_bytes() - 1;
  std::uint8_t seen = 0;
  for (std::int64_t r = 0; r < mask.rows; ++r) seen |= mask.row(r)[last];
  if ((seen & forbidden) == 0) return;
  std::int64_t r = 0;
  while ((mask.row(r)[last] & forbidden) == 0) ++r;
  throw InputError(place, fmt::format("row {} has a bit set past its {} channels", r, mask.channels),
                   "the mask was packed in another bit or channel order; record the trace again");
}

void check_mask_fits_values(const MaskView& mask, const ValueView& values, const std::string& place) {
  const std::int64_t bytes = mask.readable_bytes();
  std::vector<std::uint8_t> row(static_cast<std::size_t>(bytes));
  for (std::int64_t r = 0; r < values.rows; ++r) {
    if (!mask_row(values, r, row.data())) throw_not_finite(values, r, place);
    const std::uint8_t* given = mask.row(r);
    if (std::memcmp(given, row.data(), row.size()) == 0) continue;
    std::int64_t c = 0;
    while (mask.bit(r, c) == (values.at(r, c) != 0)) ++c;
    throw InputError(place,
                     fmt::format("element {} (row {}, channel {}) is {}, but its mask bit is {}",
                                 r * values.channels + c, r, c, values.at(r, c), mask.bit(r, c) ? 1 : 0),
                     "mask and values come from different steps; record the trace again");
  }
}

}  // namespace lacuna
