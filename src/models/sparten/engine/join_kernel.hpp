// Counting the matches of many joins at once: a block of broadcast streams against a group of held streams.
// Pointers and numbers only, and nothing inline: the file compiled for AVX-512 includes this one, and an
// inline function could be the copy that the linker keeps for the whole program.
#pragma once

#include <cstdint>

namespace lacuna::sparten {

struct JoinBlock {
  static constexpr std::int64_t kStreams = 16;  // broadcast streams of a block: two vectors of 64-bit words

  const std::uint64_t* broadcast;  // [chunk][word][stream]
  const std::uint64_t* least;      // [chunk][stream]: cycles of a join without a match
  const std::uint64_t* held;       // [chunk][held stream][word]: first pairs, then singles
  // [chunk][held stream]: a bit per broadcast stream that is joined with it, no chunk's if all are joined;
  // the next chunk's `needed_pitch` further.
  const std::uint16_t* needed;
  std::int64_t needed_pitch;
  std::int64_t chunks;
  std::int64_t words;  // of a chunk's mask
  std::int64_t pairs;  // units with two held streams
  std::int64_t singles;
};

// Sums over the chunks, for each broadcast stream.
struct JoinSums {
  std::uint64_t cycles[JoinBlock::kStreams];          // of the slowest unit at each chunk
  std::uint64_t join_cycles[JoinBlock::kStreams];     // of all units
  std::uint64_t matches_or_one[JoinBlock::kStreams];  // of all joins, at least 1 each
};

using CountJoins = void (*)(const JoinBlock& block, JoinSums& sums);

// For any CPU.
void count_joins_portable(const JoinBlock& block, JoinSums& sums);
// Masks of 1, 2 or 4 words. Needs AVX-512 F and VPOPCNTDQ. Null where the compiler has none.
extern const CountJoins kCountJoinsAvx512;

// The fastest one for masks of that many words that this CPU can run.
CountJoins count_joins_kernel(std::int64_t words);

}  // namespace lacuna::sparten
