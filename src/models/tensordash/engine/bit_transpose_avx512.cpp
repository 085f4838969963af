#include "models/tensordash/engine/avx512_kernels.hpp"

#if defined(__AVX512VBMI__) && defined(__GFNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace lacuna::tensordash {
namespace {

// Eight rows of eight bytes as 64-bit lanes.
[[gnu::always_inline]] inline __m512i load_rows(const std::uint8_t* const* rows, int bytes) {
  if (bytes == 8) [[likely]] {
    const auto load = [&](int i) {
      long long row;
      __builtin_memcpy(&row, rows[i], sizeof(row));
      return row;
    };
    const auto pair = [&](int i) { return _mm_set_epi64x(load(i + 1), load(i)); };
    const __m256i low = _mm256_set_m128i(pair(2), pair(0));
    const __m256i high = _mm256_set_m128i(pair(6), pair(4));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  alignas(64) std::uint8_t lanes[64] = {};
  for (int r = 0; r < 8; ++r) __builtin_memcpy(lanes + 8 * r, rows[r], static_cast<std::size_t>(bytes));
  return _mm512_load_si512(lanes);
}

void transpose(const std::uint8_t* const* rows, int bytes, std::uint16_t* out) {
  // Byte b of row r to byte r of lane b: an 8x8 transpose of bytes.
  alignas(64) static constexpr auto kByteTranspose = [] {
    struct {
      std::uint8_t index[64];
    } table{};
    for (int i = 0; i < 64; ++i) table.index[i] = static_cast<std::uint8_t>((i % 8) * 8 + i / 8);
    return table;
  }();
  // Interleaves the bytes of two vectors: 0 64 1 65 ...
  alignas(64) static constexpr auto kInterleave = [] {
    struct {
      std::uint8_t low[64], high[64];
    } table{};
    for (int i = 0; i < 64; ++i) {
      table.low[i] = static_cast<std::uint8_t>(i / 2 + (i % 2) * 64);
      table.high[i] = static_cast<std::uint8_t>(32 + i / 2 + (i % 2) * 64);
    }
    return table;
  }();
  const __m512i order = _mm512_load_si512(kByteTranspose.index);
  // GF2P8AFFINEQB multiplies an 8x8 bit matrix with each byte of its other operand. With single-bit bytes as
  // that operand and our bits as the matrix, each result byte collects one column: the transpose, in one
  // instruction. Bit i of a result comes from matrix byte 7-i, so the rows go in reversed.
  const __m512i unit = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ULL));
  const __m512i reverse =
      _mm512_set_epi64(0x38393a3b3c3d3e3f, 0x3031323334353637, 0x28292a2b2c2d2e2f, 0x2021222324252627,
                       0x18191a1b1c1d1e1f, 0x1011121314151617, 0x08090a0b0c0d0e0f, 0x0001020304050607);
  const __m512i gather =
      _mm512_permutexvar_epi8(reverse, order);  // order with the rows of each lane reversed
  const auto bits = [&](const std::uint8_t* const* from) {
    return _mm512_gf2p8affine_epi64_epi8(unit, _mm512_permutexvar_epi8(gather, load_rows(from, bytes)), 0);
  };
  const __m512i low = bits(rows);
  const __m512i high = bits(rows + 8);
  const __m512i first = _mm512_permutex2var_epi8(low, _mm512_load_si512(kInterleave.low), high);
  const __m512i second = _mm512_permutex2var_epi8(low, _mm512_load_si512(kInterleave.high), high);
  _mm512_storeu_si512(out, first);
  _mm512_storeu_si512(out + 32, second);
}

}  // namespace

constinit const TransposeBits kTransposeBitsAvx512 = transpose;

}  // namespace lacuna::tensordash

#else

namespace lacuna::tensordash {
constinit const TransposeBits kTransposeBitsAvx512 = nullptr;
}  // namespace lacuna::tensordash

#endif
