#include "models/sparten/engine/join_kernel.hpp"

#include <algorithm>
#include <bit>

#include "base/cpu.hpp"

namespace lacuna::sparten {
namespace {

constexpr std::int64_t kStreams = JoinBlock::kStreams;

// The joins of one chunk of every needed broadcast stream with one held chunk; adds their cycles to `unit`.
void join(const JoinBlock& block, const std::uint64_t* broadcast, const std::uint64_t* least,
          const std::uint64_t* held, unsigned needed, std::uint64_t* unit, JoinSums& sums) {
  for (std::int64_t s = 0; s < kStreams; ++s) {
    if (((needed >> s) & 1U) == 0) continue;
    std::uint64_t matches = 0;
    for (std::int64_t w = 0; w < block.words; ++w) {
      matches += static_cast<std::uint64_t>(std::popcount(broadcast[w * kStreams + s] & held[w]));
    }
    sums.matches_or_one[s] += std::max<std::uint64_t>(matches, 1);
    unit[s] += std::max(matches, least[s]);
  }
}

}  // namespace

void count_joins_portable(const JoinBlock& block, JoinSums& sums) {
  sums = {};
  const std::uint64_t* held = block.held;
  for (std::int64_t c = 0; c < block.chunks; ++c) {
    const std::uint64_t* broadcast = block.broadcast + c * block.words * kStreams;
    const std::uint64_t* least = block.least + c * kStreams;
    const std::uint16_t* needed = block.needed != nullptr ? block.needed + c * block.needed_pitch : nullptr;
    std::uint64_t slowest[kStreams] = {};
    for (std::int64_t u = 0; u < block.pairs + block.singles; ++u) {
      std::uint64_t unit[kStreams] = {};
      for (int i = 0; i < (u < block.pairs ? 2 : 1); ++i, held += block.words) {
        join(block, broadcast, least, held, needed != nullptr ? *needed++ : 0xffffU, unit, sums);
      }
      for (std::int64_t s = 0; s < kStreams; ++s) {
        sums.join_cycles[s] += unit[s];
        slowest[s] = std::max(slowest[s], unit[s]);
      }
    }
    for (std::int64_t s = 0; s < kStreams; ++s) sums.cycles[s] += slowest[s];
  }
}

CountJoins count_joins_kernel(std::int64_t words) {
  const bool has_size = words == 1 || words == 2 || words == 4;
  if (has_size && kCountJoinsAvx512 != nullptr && cpu_features().avx512_vpopcntdq) return kCountJoinsAvx512;
  return count_joins_portable;
}

}  // namespace lacuna::sparten
