// Moves values through the compute units: SparseMaps are joined, and the matches multiplied one by one.
#include <algorithm>
#include <bit>

#include "base/parallel.hpp"
#include "base/work_progress.hpp"
#include "models/sparten/engine/engine.hpp"

namespace lacuna::sparten {
namespace {

// A compute unit at one pair of chunks [SparTen: inner join]: the masks are ANDed, a priority encoder takes
// the matches in order, and prefix sums of the two masks say which of the packed values they are.
struct InnerJoin {
  std::span<const std::uint64_t> left_mask, right_mask;
  const std::vector<float>&left, &right;

  std::int64_t accumulate(float& sum) const {
    std::int64_t matches = 0;
    int left_before = 0, right_before = 0;  // non-zeros in earlier words
    for (std::size_t w = 0; w < left_mask.size(); ++w) {
      for (std::uint64_t both = left_mask[w] & right_mask[w]; both != 0; both &= both - 1) {
        const std::uint64_t below = (both & -both) - 1;
        const int at_left = left_before + std::popcount(left_mask[w] & below);
        const int at_right = right_before + std::popcount(right_mask[w] & below);
        sum += left[static_cast<std::size_t>(at_left)] * right[static_cast<std::size_t>(at_right)];
        ++matches;
      }
      left_before += std::popcount(left_mask[w]);
      right_before += std::popcount(right_mask[w]);
    }
    return matches;
  }
};

struct HeldMaps {
  std::vector<SparseMap> maps;
  std::vector<std::vector<HeldGroup>> groups;  // [group][chunk], or [group][0] where they stay the same
  std::int64_t nonzeros = 0;

  HeldMaps(const PlacedProduct& placed, const TensorValues& values) {
    std::vector<std::int64_t> all;
    for (std::int64_t h = 0; h < placed.held->count(); ++h) {
      maps.push_back(read_sparse_map(*placed.held, h, placed.layout, values));
      std::int64_t count = 0;
      for (const std::vector<float>& chunk : maps.back().values) count += std::ssize(chunk);
      all.push_back(count);
      nonzeros += count;
    }
    for (const HeldGroup& group : group_streams(all, placed.config)) {
      groups.push_back({group});
      if (placed.config.balancing != Balancing::kChunks) continue;
      groups.back().clear();
      for (std::size_t c = 0; c < static_cast<std::size_t>(placed.layout.chunks()); ++c) {
        for (std::size_t h = 0; h < maps.size(); ++h) all[h] = std::ssize(maps[h].values[c]);
        groups.back().push_back(pair_for_chunk(group, all, placed.config));
      }
    }
  }
  const HeldGroup& group(std::size_t g, std::int64_t chunk) const {
    return groups[g].size() == 1 ? groups[g][0] : groups[g][static_cast<std::size_t>(chunk)];
  }
};

// One broadcast stream on all groups: the cycles of each, and what happened.
struct StreamOutcome {
  std::vector<std::int64_t> cycles;
  ProductCounts counts;
  std::int64_t matches = 0;
};

StreamOutcome run_stream(const PlacedProduct& placed, const HeldMaps& held, std::int64_t number,
                         const SparseMap& broadcast, std::vector<float>& sums) {
  StreamOutcome outcome;
  const std::int64_t words = placed.layout.words();
  for (std::size_t g = 0; g < held.groups.size(); ++g) {
    std::int64_t cycles = 0;
    for (std::int64_t c = 0; c < placed.layout.chunks(); ++c) {
      const std::vector<float>& values = broadcast.values[static_cast<std::size_t>(c)];
      const std::int64_t least = least_cycles(placed.config.empty_join, values.empty());
      const bool sent = !values.empty() || placed.config.empty_join != EmptyJoin::kBroadcast;
      const HeldGroup& group = held.group(g, c);
      std::int64_t slowest = 0;
      const auto join = [&](std::int64_t stream) -> std::int64_t {
        if (!placed.computes(number, stream)) return 0;
        ++(sent ? outcome.counts.joins : outcome.counts.joins_left_out);
        const SparseMap& map = held.maps[static_cast<std::size_t>(stream)];
        const InnerJoin unit{broadcast.mask(c, words), map.mask(c, words), values,
                             map.values[static_cast<std::size_t>(c)]};
        const std::int64_t matches = unit.accumulate(sums[static_cast<std::size_t>(stream)]);
        outcome.matches += matches;
        outcome.counts.matches_or_one += std::max<std::int64_t>(matches, 1);
        return std::max(matches, least);
      };
      const auto finish = [&](std::int64_t unit_cycles) {
        outcome.counts.join_cycles += unit_cycles;
        slowest = std::max(slowest, unit_cycles);
      };
      for (std::size_t i = 0; i < group.pairs.size(); i += 2) {
        const std::int64_t first = join(group.pairs[i]);
        finish(first + join(group.pairs[i + 1]));
      }
      for (const std::int64_t stream : group.singles) finish(join(stream));
      cycles += slowest;  // the barrier
      outcome.counts.occupied_cycles += slowest * group.units();
    }
    outcome.cycles.push_back(cycles);
  }
  for (const std::vector<float>& values : broadcast.values) {
    outcome.counts.broadcast_nonzeros += std::ssize(values);
    if (values.empty() && placed.config.empty_join == EmptyJoin::kBroadcast)
      ++outcome.counts.empty_broadcasts;
  }
  return outcome;
}

}  // namespace

ProductCounts execute_product(const PlacedProduct& placed, const LayerShape& shape, Operation op,
                              const LayerValues& values, std::vector<float>& result, std::int64_t& matches) {
  constexpr std::int64_t kStreamsAtOnce = 1 << 16;  // bounds what is kept, however many streams there are
  const HeldMaps held(placed, values.of(placed.held->role));
  const bool held_is_primary = placed.held == &placed.product->primary;
  const std::int64_t streams = placed.broadcast->count();
  ProductCounts total;
  total.held_nonzeros = held.nonzeros;
  for (const std::vector<HeldGroup>& group : held.groups) total.held_units += group.front().units();
  TileClock clock(placed.grid);
  for (const std::int64_t part : in_steps(ceil_div(streams, kStreamsAtOnce))) {
    const std::int64_t from = part * kStreamsAtOnce;
    std::vector<StreamOutcome> outcomes(static_cast<std::size_t>(std::min(streams - from, kStreamsAtOnce)));
    parallel_for(outcomes.size(), 4, [&](std::size_t i) {
      const std::int64_t b = from + static_cast<std::int64_t>(i);
      std::vector<float> sums(held.maps.size(), 0.0F);
      const SparseMap map =
          read_sparse_map(*placed.broadcast, b, placed.layout, values.of(placed.broadcast->role));
      outcomes[i] = run_stream(placed, held, b, map, sums);
      for (std::int64_t h = 0; h < std::ssize(sums); ++h) {
        const std::int64_t at =
            placed.product->output_index(shape, op, held_is_primary ? h : b, held_is_primary ? b : h);
        result[static_cast<std::size_t>(at)] += sums[static_cast<std::size_t>(h)];
      }
    });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      total += outcomes[i].counts;
      matches += outcomes[i].matches;
      for (std::int64_t g = 0; g < std::ssize(outcomes[i].cycles); ++g) {
        clock.add_pair(from + static_cast<std::int64_t>(i), g,
                       outcomes[i].cycles[static_cast<std::size_t>(g)]);
      }
    }
  }
  total.cycles = clock.cycles();
  return total;
}

}  // namespace lacuna::sparten
