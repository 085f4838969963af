// Eight broadcast streams per vector: a held word is broadcast to all lanes, ANDed and counted, and the
// slowest unit is a maximum of vectors, with nothing to add up across lanes.
#include "models/sparten/engine/join_kernel.hpp"

#if defined(__AVX512F__) && defined(__AVX512VPOPCNTDQ__)

#include <immintrin.h>

namespace lacuna::sparten {
namespace {

using Vector = __m512i;
constexpr int kVectors = JoinBlock::kStreams / 8;

struct Sums {
  Vector cycles[kVectors], join_cycles[kVectors], matches_or_one[kVectors];
};

// Mask words of a block's streams for one chunk, in registers if the mask is short.
template <int kWords>
struct Chunk {
  Vector masks[kWords][kVectors];
  Vector least[kVectors];
};

template <int kWords>
[[gnu::always_inline]] inline Vector join(const Chunk<kWords>& chunk, const std::uint64_t* held,
                                          unsigned needed, int v, Vector& matches_or_one) {
  const auto joined = static_cast<__mmask8>(needed >> (8 * v));
  Vector matches = _mm512_setzero_si512();
  for (int w = 0; w < kWords; ++w) {
    const Vector both =
        _mm512_and_si512(chunk.masks[w][v], _mm512_set1_epi64(static_cast<long long>(held[w])));
    matches = _mm512_add_epi64(matches, _mm512_popcnt_epi64(both));
  }
  matches_or_one = _mm512_mask_add_epi64(matches_or_one, joined, matches_or_one,
                                         _mm512_max_epu64(matches, _mm512_set1_epi64(1)));
  return _mm512_maskz_max_epu64(joined, matches, chunk.least[v]);
}

template <int kWords>
[[gnu::always_inline]] inline void count(const JoinBlock& block, Sums& sums) {
  const std::uint64_t* held = block.held;
  for (std::int64_t c = 0; c < block.chunks; ++c) {
    Chunk<kWords> chunk;
    Vector slowest[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      for (int w = 0; w < kWords; ++w) {
        chunk.masks[w][v] =
            _mm512_loadu_si512(block.broadcast + (c * kWords + w) * JoinBlock::kStreams + v * 8);
      }
      chunk.least[v] = _mm512_loadu_si512(block.least + c * JoinBlock::kStreams + v * 8);
      slowest[v] = _mm512_setzero_si512();
    }
    const std::uint16_t* needed = block.needed != nullptr ? block.needed + c * block.needed_pitch : nullptr;
    const auto next = [&needed]() -> unsigned { return needed != nullptr ? *needed++ : 0xffffU; };
    for (std::int64_t u = 0; u < block.pairs; ++u, held += 2 * kWords) {
      const unsigned first = next(), second = next();
      for (int v = 0; v < kVectors; ++v) {
        const Vector unit = _mm512_add_epi64(join(chunk, held, first, v, sums.matches_or_one[v]),
                                             join(chunk, held + kWords, second, v, sums.matches_or_one[v]));
        sums.join_cycles[v] = _mm512_add_epi64(sums.join_cycles[v], unit);
        slowest[v] = _mm512_max_epu64(slowest[v], unit);
      }
    }
    for (std::int64_t u = 0; u < block.singles; ++u, held += kWords) {
      const unsigned single = next();
      for (int v = 0; v < kVectors; ++v) {
        const Vector unit = join(chunk, held, single, v, sums.matches_or_one[v]);
        sums.join_cycles[v] = _mm512_add_epi64(sums.join_cycles[v], unit);
        slowest[v] = _mm512_max_epu64(slowest[v], unit);
      }
    }
    for (int v = 0; v < kVectors; ++v) sums.cycles[v] = _mm512_add_epi64(sums.cycles[v], slowest[v]);
  }
}

void count_joins(const JoinBlock& block, JoinSums& out) {
  Sums sums;
  for (int v = 0; v < kVectors; ++v) {
    sums.cycles[v] = sums.join_cycles[v] = sums.matches_or_one[v] = _mm512_setzero_si512();
  }
  switch (block.words) {
    case 1:
      count<1>(block, sums);
      break;
    case 2:
      count<2>(block, sums);
      break;
    case 4:
      count<4>(block, sums);
      break;
    default:  // count_joins_kernel() asks for no other
      break;
  }
  for (int v = 0; v < kVectors; ++v) {
    _mm512_storeu_si512(out.cycles + v * 8, sums.cycles[v]);
    _mm512_storeu_si512(out.join_cycles + v * 8, sums.join_cycles[v]);
    _mm512_storeu_si512(out.matches_or_one + v * 8, sums.matches_or_one[v]);
  }
}

}  // namespace

const CountJoins kCountJoinsAvx512 = count_joins;

}  // namespace lacuna::sparten

#else

namespace lacuna::sparten {
const CountJoins kCountJoinsAvx512 = nullptr;
}  // namespace lacuna::sparten

#endif
