// Counts from masks: blocks of broadcast streams against all groups of held streams.
#include <algorithm>
#include <bit>
#include <span>

#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "models/sparten/engine/engine.hpp"
#include "models/sparten/engine/join_kernel.hpp"
#include "sim/workload/stream_classes.hpp"

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
  const WorkPart part(0.05);
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

// Broadcast streams to count: one, and how many hold the same.
struct Counted {
  std::int64_t stream;
  std::int64_t times;
};
using Block = std::span<const Counted>;  // at most kBlock

// A block of broadcast streams; those past the last one have neither bits nor cycles.
struct BroadcastMasks {
  std::vector<std::uint64_t> masks;  // [chunk][word][stream]
  std::vector<std::uint64_t> least;  // [chunk][stream]
  std::int64_t nonzeros = 0;
  std::int64_t left_out = 0;

  BroadcastMasks(const PlacedProduct& placed, Block block)
      : masks(static_cast<std::size_t>(placed.layout.chunks() * placed.layout.words() * kBlock)),
        least(static_cast<std::size_t>(placed.layout.chunks() * kBlock)) {
    const std::int64_t words = placed.layout.words();
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::int64_t times = block[i].times;
      nonzeros +=
          times * read_masks(*placed.broadcast, block[i].stream, placed.layout, masks.data() + i, kBlock);
      for (std::int64_t c = 0; c < placed.layout.chunks(); ++c) {
        std::uint64_t any = 0;
        for (std::int64_t w = 0; w < words; ++w) {
          any |= masks[static_cast<std::size_t>((c * words + w) * kBlock) + i];
        }
        least[static_cast<std::size_t>(c * kBlock) + i] =
            static_cast<std::uint64_t>(least_cycles(placed.config.empty_join, any == 0));
        if (any == 0 && placed.config.empty_join == EmptyJoin::kBroadcast) left_out += times;
      }
    }
  }
};

// A block of broadcast streams on all groups.
struct BlockOutcome {
  ProductCounts counts;
  std::vector<std::int64_t> cycles;  // [group][stream]
};

BlockOutcome count_block(const PlacedProduct& placed, const HeldMasks& held, Block block) {
  const CountJoins count_joins = count_joins_kernel(placed.layout.words());
  const BroadcastMasks broadcast(placed, block);
  BlockOutcome outcome;
  ProductCounts& counts = outcome.counts;
  counts.broadcast_nonzeros = broadcast.nonzeros;
  counts.empty_broadcasts = broadcast.left_out;
  outcome.cycles.reserve(held.groups.size() * kBlock);
  JoinSums sums;
  for (const HeldMasks::Group& group : held.groups) {
    count_joins({broadcast.masks.data(), broadcast.least.data(), group.masks.data(), placed.layout.chunks(),
                 placed.layout.words(), group.pairs, group.singles},
                sums);
    for (std::size_t s = 0; s < kBlock; ++s) {
      const auto cycles = static_cast<std::int64_t>(sums.cycles[s]);
      outcome.cycles.push_back(cycles);
      if (s >= block.size()) continue;
      counts.join_cycles += block[s].times * static_cast<std::int64_t>(sums.join_cycles[s]);
      counts.matches_or_one += block[s].times * static_cast<std::int64_t>(sums.matches_or_one[s]);
      counts.occupied_cycles += block[s].times * cycles * (group.pairs + group.singles);
    }
  }
  return outcome;
}

// Broadcast streams without zeros: one of each kind is counted.
void count_kinds(const PlacedProduct& placed, const HeldMasks& held, ProductCounts& total, TileClock& clock) {
  const Alike alike = alike_streams(*placed.broadcast);
  std::vector<Counted> kinds;
  for (const std::int64_t stream : alike.first) kinds.push_back({stream, 0});
  for (const std::uint32_t kind : alike.kind) ++kinds[kind].times;
  std::vector<BlockOutcome> outcomes(
      static_cast<std::size_t>(ceil_div(static_cast<std::int64_t>(kinds.size()), kBlock)));
  parallel_for(outcomes.size(), 1, [&](std::size_t i) {
    const std::size_t first = i * kBlock;
    outcomes[i] = count_block(
        placed, held, Block(kinds).subspan(first, std::min<std::size_t>(kBlock, kinds.size() - first)));
  });
  for (const BlockOutcome& outcome : outcomes) total += outcome.counts;
  for (std::size_t stream = 0; stream < alike.kind.size(); ++stream) {
    const std::size_t kind = alike.kind[stream];
    const std::vector<std::int64_t>& cycles = outcomes[kind / kBlock].cycles;
    for (std::size_t group = 0; group < held.groups.size(); ++group) {
      clock.add_pair(static_cast<std::int64_t>(stream), static_cast<std::int64_t>(group),
                     cycles[group * kBlock + kind % kBlock]);
    }
  }
}

void count_all(const PlacedProduct& placed, const HeldMasks& held, ProductCounts& total, TileClock& clock) {
  constexpr std::int64_t kBlocksAtOnce = 4096;  // bounds what is kept, however many streams there are
  const std::int64_t streams = placed.broadcast->count();
  const std::int64_t blocks = ceil_div(streams, kBlock);
  for (const std::int64_t part : in_steps(ceil_div(blocks, kBlocksAtOnce))) {
    const std::int64_t from = part * kBlocksAtOnce;
    std::vector<BlockOutcome> outcomes(static_cast<std::size_t>(std::min(blocks - from, kBlocksAtOnce)));
    parallel_for(outcomes.size(), 1, [&](std::size_t i) {
      const std::int64_t first = (from + static_cast<std::int64_t>(i)) * kBlock;
      Counted block[kBlock];
      const std::int64_t count = std::min(streams - first, kBlock);
      for (std::int64_t s = 0; s < count; ++s) block[s] = {first + s, 1};
      outcomes[i] = count_block(placed, held, Block(block, static_cast<std::size_t>(count)));
    });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      total += outcomes[i].counts;
      const std::int64_t first = (from + static_cast<std::int64_t>(i)) * kBlock;
      for (std::size_t at = 0; at < outcomes[i].cycles.size(); ++at) {
        const std::int64_t stream = first + static_cast<std::int64_t>(at) % kBlock;
        if (stream < streams)
          clock.add_pair(stream, static_cast<std::int64_t>(at) / kBlock, outcomes[i].cycles[at]);
      }
    }
  }
}

}  // namespace

ProductCounts count_product(const PlacedProduct& placed) {
  const HeldMasks held = read_held(placed);
  ProductCounts total;
  total.held_nonzeros = held.nonzeros;
  for (const HeldMasks::Group& group : held.groups) total.held_units += group.pairs + group.singles;
  TileClock clock(placed.grid);
  if (has_no_zeros(*placed.broadcast)) {
    count_kinds(placed, held, total, clock);
  } else {
    count_all(placed, held, total, clock);
  }
  total.cycles = clock.cycles();
  return total;
}

}  // namespace lacuna::sparten
