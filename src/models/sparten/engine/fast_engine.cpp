// Counts from masks: blocks of broadcast streams against all groups of held streams.
#include <algorithm>
#include <bit>

#include "base/parallel.hpp"
#include "models/sparten/engine/engine.hpp"
#include "models/sparten/engine/join_kernel.hpp"

namespace lacuna::sparten {
namespace {

constexpr std::int64_t kBlock = JoinBlock::kStreams;

// The held operand as the kernel reads it.
struct HeldMasks {
  struct Group {
    std::vector<std::uint64_t> masks;  // [chunk][held stream][word]
    std::int64_t pairs = 0;
    std::int64_t singles = 0;
  };
  std::vector<Group> groups;
  std::int64_t nonzeros = 0;
};

HeldMasks read_held(const PlacedProduct& placed) {
  const std::int64_t streams = placed.held->count();
  const std::int64_t words = placed.layout.words();
  const std::int64_t chunks = placed.layout.chunks();
  std::vector<std::uint64_t> masks(static_cast<std::size_t>(streams * chunks * words));
  std::vector<std::int64_t> nonzeros(static_cast<std::size_t>(streams));
  parallel_for(nonzeros.size(), 16, [&](std::size_t s) {
    const auto stream = static_cast<std::int64_t>(s);
    nonzeros[s] = read_masks(*placed.held, stream, placed.layout, masks.data() + stream * chunks * words);
  });
  const std::vector<HeldGroup> groups = group_streams(nonzeros, placed.config);
  HeldMasks held;
  held.groups.resize(groups.size());
  for (const std::int64_t count : nonzeros) held.nonzeros += count;
  const bool each_chunk = placed.config.balancing == Balancing::kChunks;
  parallel_for(groups.size(), 1, [&](std::size_t g) {
    HeldMasks::Group& out = held.groups[g];
    out.pairs = static_cast<std::int64_t>(groups[g].pairs.size() / 2);
    out.singles = static_cast<std::int64_t>(groups[g].singles.size());
    out.masks.reserve(static_cast<std::size_t>(groups[g].streams() * chunks * words));
    std::vector<std::int64_t> in_chunk(each_chunk ? nonzeros.size() : 0);
    for (std::int64_t c = 0; c < chunks; ++c) {
      const auto mask = [&](std::int64_t stream) { return masks.data() + (stream * chunks + c) * words; };
      HeldGroup paired;
      if (each_chunk) {
        for (const auto* members : {&groups[g].pairs, &groups[g].singles}) {
          for (const std::int64_t stream : *members) {
            std::int64_t& count = in_chunk[static_cast<std::size_t>(stream)];
            count = 0;
            for (std::int64_t w = 0; w < words; ++w) count += std::popcount(mask(stream)[w]);
          }
        }
        paired = pair_for_chunk(groups[g], in_chunk, placed.config);
      }
      const HeldGroup& group = each_chunk ? paired : groups[g];
      for (const auto* members : {&group.pairs, &group.singles}) {
        for (const std::int64_t stream : *members) {
          out.masks.insert(out.masks.end(), mask(stream), mask(stream) + words);
        }
      }
    }
  });
  return held;
}

// A block of broadcast streams; those past the last one have neither bits nor cycles.
struct BroadcastMasks {
  std::vector<std::uint64_t> masks;  // [chunk][word][stream]
  std::vector<std::uint64_t> least;  // [chunk][stream]
  std::int64_t nonzeros = 0;
  std::int64_t left_out = 0;

  BroadcastMasks(const PlacedProduct& placed, std::int64_t first)
      : masks(static_cast<std::size_t>(placed.layout.chunks() * placed.layout.words() * kBlock)),
        least(static_cast<std::size_t>(placed.layout.chunks() * kBlock)) {
    const std::int64_t words = placed.layout.words();
    const std::int64_t last = std::min(placed.broadcast->count(), first + kBlock);
    for (std::int64_t b = first; b < last; ++b) {
      nonzeros += read_masks(*placed.broadcast, b, placed.layout, masks.data() + (b - first), kBlock);
      for (std::int64_t c = 0; c < placed.layout.chunks(); ++c) {
        std::uint64_t any = 0;
        for (std::int64_t w = 0; w < words; ++w) {
          any |= masks[static_cast<std::size_t>((c * words + w) * kBlock + b - first)];
        }
        least[static_cast<std::size_t>(c * kBlock + b - first)] =
            static_cast<std::uint64_t>(least_cycles(placed.config.empty_join, any == 0));
        if (any == 0 && placed.config.empty_join == EmptyJoin::kBroadcast) ++left_out;
      }
    }
  }
};

// A block of broadcast streams on all groups.
struct BlockOutcome {
  ProductCounts counts;
  std::vector<std::int64_t> cycles;  // [group][stream]
};

BlockOutcome count_block(const PlacedProduct& placed, const HeldMasks& held, std::int64_t first) {
  const CountJoins count_joins = count_joins_kernel(placed.layout.words());
  const BroadcastMasks broadcast(placed, first);
  BlockOutcome outcome;
  ProductCounts& counts = outcome.counts;
  counts.broadcast_nonzeros = broadcast.nonzeros;
  counts.empty_broadcasts = broadcast.left_out;
  outcome.cycles.reserve(held.groups.size() * kBlock);
  const std::int64_t streams = std::min(placed.broadcast->count() - first, kBlock);
  JoinSums sums;
  for (const HeldMasks::Group& group : held.groups) {
    count_joins({broadcast.masks.data(), broadcast.least.data(), group.masks.data(), placed.layout.chunks(),
                 placed.layout.words(), group.pairs, group.singles},
                sums);
    for (std::int64_t s = 0; s < kBlock; ++s) {
      const auto cycles = static_cast<std::int64_t>(sums.cycles[s]);
      outcome.cycles.push_back(cycles);
      if (s >= streams) continue;
      counts.join_cycles += static_cast<std::int64_t>(sums.join_cycles[s]);
      counts.matches_or_one += static_cast<std::int64_t>(sums.matches_or_one[s]);
      counts.occupied_cycles += cycles * (group.pairs + group.singles);
    }
  }
  return outcome;
}

}  // namespace

ProductCounts count_product(const PlacedProduct& placed) {
  constexpr std::int64_t kBlocksAtOnce = 4096;  // bounds what is kept, however many streams there are
  const HeldMasks held = read_held(placed);
  const std::int64_t streams = placed.broadcast->count();
  const std::int64_t blocks = ceil_div(streams, kBlock);
  ProductCounts total;
  total.held_nonzeros = held.nonzeros;
  for (const HeldMasks::Group& group : held.groups) total.held_units += group.pairs + group.singles;
  ClusterClock clock(placed);
  for (std::int64_t from = 0; from < blocks; from += kBlocksAtOnce) {
    std::vector<BlockOutcome> outcomes(static_cast<std::size_t>(std::min(blocks - from, kBlocksAtOnce)));
    parallel_for(outcomes.size(), 1, [&](std::size_t i) {
      outcomes[i] = count_block(placed, held, (from + static_cast<std::int64_t>(i)) * kBlock);
    });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      total += outcomes[i].counts;
      const std::int64_t first = (from + static_cast<std::int64_t>(i)) * kBlock;
      for (std::size_t at = 0; at < outcomes[i].cycles.size(); ++at) {
        const std::int64_t stream = first + static_cast<std::int64_t>(at) % kBlock;
        if (stream < streams)
          clock.add(stream, static_cast<std::int64_t>(at) / kBlock, outcomes[i].cycles[at]);
      }
    }
  }
  total.cycles = clock.cycles();
  return total;
}

}  // namespace lacuna::sparten
