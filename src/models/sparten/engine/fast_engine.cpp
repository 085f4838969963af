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
    std::vector<std::int64_t> order;   // [chunk][held stream], of the first chunk if it stays the same
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
          if (each_chunk || c == 0) out.order.push_back(stream);
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
using Block = std::span<const Counted>;

// A block of broadcast streams; those past the last one have neither bits nor cycles.
struct BroadcastMasks {
  std::vector<std::uint64_t> masks;  // [chunk][word][stream]
  std::vector<std::uint64_t> least;  // [chunk][stream]
  std::int64_t nonzeros = 0;
  std::int64_t left_out = 0;
  std::int64_t empty[kBlock] = {};  // chunks that are left out, by stream

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
        if (any == 0 && placed.config.empty_join == EmptyJoin::kBroadcast) ++empty[i];
      }
      left_out += times * empty[i];
    }
  }
};

// The streams of a block that are joined with the held ones, as JoinBlock has them; nothing if all are.
std::vector<std::uint16_t> joined(const PlacedProduct& placed, const HeldMasks::Group& group, Block block) {
  std::vector<std::uint16_t> bits(placed.needed != nullptr ? group.order.size() : 0, 0);
  for (std::size_t h = 0; h < bits.size(); ++h) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (placed.computes(block[i].stream, group.order[h]))
        bits[h] = static_cast<std::uint16_t>(bits[h] | (1U << i));
    }
  }
  return bits;
}

// A block of broadcast streams on all groups.
struct BlockOutcome {
  ProductCounts counts;
  std::vector<std::int64_t> cycles;  // [group][stream]
};

// At most kBlock of them.
BlockOutcome count_block(const PlacedProduct& placed, const HeldMasks& held, Block block) {
  const CountJoins count_joins = count_joins_kernel(placed.layout.words());
  const BroadcastMasks broadcast(placed, block);
  BlockOutcome outcome;
  ProductCounts& counts = outcome.counts;
  counts.broadcast_nonzeros = broadcast.nonzeros;
  counts.empty_broadcasts = broadcast.left_out;
  outcome.cycles.reserve(held.groups.size() * kBlock);
  JoinSums sums;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::int64_t outputs =
        placed.needed == nullptr ? placed.held->count() : placed.needed->count(block[i].stream);
    counts.joins += block[i].times * outputs * (placed.layout.chunks() - broadcast.empty[i]);
    counts.joins_left_out += block[i].times * outputs * broadcast.empty[i];
  }
  for (const HeldMasks::Group& group : held.groups) {
    const std::vector<std::uint16_t> needed = joined(placed, group, block);
    const std::int64_t streams = 2 * group.pairs + group.singles;
    count_joins({broadcast.masks.data(), broadcast.least.data(), group.masks.data(),
                 needed.empty() ? nullptr : needed.data(), std::ssize(group.order) > streams ? streams : 0,
                 placed.layout.chunks(), placed.layout.words(), group.pairs, group.singles},
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

// Some broadcast streams counted on all groups.
class CountedStreams {
 public:
  CountedStreams(const PlacedProduct& placed, const HeldMasks& held, Block streams, ProductCounts& total)
      : outcomes_(static_cast<std::size_t>(ceil_div(std::ssize(streams), kBlock))) {
    parallel_for(outcomes_.size(), 1, [&](std::size_t i) {
      const std::size_t first = i * kBlock;
      outcomes_[i] = count_block(
          placed, held, streams.subspan(first, std::min<std::size_t>(kBlock, streams.size() - first)));
    });
    for (const BlockOutcome& outcome : outcomes_) total += outcome.counts;
  }
  // Spends the cycles of one of them as those of `stream`.
  void add(std::size_t index, std::int64_t stream, TileClock& clock) const {
    const std::vector<std::int64_t>& cycles = outcomes_[index / kBlock].cycles;
    for (std::size_t at = index % kBlock; at < cycles.size(); at += kBlock)
      clock.add_pair(stream, static_cast<std::int64_t>(at) / kBlock, cycles[at]);
  }

 private:
  std::vector<BlockOutcome> outcomes_;
};

// Broadcast streams without zeros: one of each kind is counted.
void count_kinds(const PlacedProduct& placed, const HeldMasks& held, ProductCounts& total, TileClock& clock) {
  const Alike alike = alike_streams(*placed.broadcast);
  std::vector<Counted> kinds;
  for (const std::int64_t stream : alike.first) kinds.push_back({stream, 0});
  for (const std::uint32_t kind : alike.kind) ++kinds[kind].times;
  const CountedStreams counted(placed, held, kinds, total);
  for (std::size_t stream = 0; stream < alike.kind.size(); ++stream)
    counted.add(alike.kind[stream], static_cast<std::int64_t>(stream), clock);
}

void count_all(const PlacedProduct& placed, const HeldMasks& held, ProductCounts& total, TileClock& clock) {
  constexpr std::int64_t kAtOnce = 4096 * kBlock;  // bounds what is kept, however many streams there are
  const std::int64_t streams = placed.broadcast->count();
  for (const std::int64_t part : in_steps(ceil_div(streams, kAtOnce))) {
    std::vector<Counted> block;
    for (std::int64_t s = part * kAtOnce; s < std::min(streams, (part + 1) * kAtOnce); ++s)
      block.push_back({s, 1});
    const CountedStreams counted(placed, held, block, total);
    for (std::size_t i = 0; i < block.size(); ++i) counted.add(i, block[i].stream, clock);
  }
}

}  // namespace

ProductCounts count_product(const PlacedProduct& placed) {
  const HeldMasks held = read_held(placed);
  ProductCounts total;
  total.held_nonzeros = held.nonzeros;
  for (const HeldMasks::Group& group : held.groups) total.held_units += group.pairs + group.singles;
  TileClock clock(placed.grid);
  if (has_no_zeros(*placed.broadcast) && placed.needed == nullptr) {
    count_kinds(placed, held, total, clock);
  } else {
    count_all(placed, held, total, clock);
  }
  total.cycles = clock.cycles();
  return total;
}

}  // namespace lacuna::sparten
