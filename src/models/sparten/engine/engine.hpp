// The two engines: every join of a product, counted or computed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/add_counts.hpp"
#include "models/sparten/placement.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::sparten {

// Counts of the clusters in one product, memory aside.
struct ProductCounts {
  std::int64_t cycles = 0;       // of the slowest cluster
  std::int64_t join_cycles = 0;  // of units that multiply or find that there is nothing to multiply
  // Cycles of units that hold a stream, until the barrier: join_cycles and waiting.
  std::int64_t occupied_cycles = 0;
  std::int64_t matches_or_one = 0;      // matches of each join, at least 1
  std::int64_t broadcast_nonzeros = 0;  // of all broadcast streams, each once
  std::int64_t held_nonzeros = 0;       // of all held streams
  std::int64_t empty_broadcasts = 0;    // chunks of broadcast streams that are left out, each once
  std::int64_t held_units = 0;          // that have a stream, in all groups together
  std::int64_t joins = 0;               // of chunks that are broadcast, for outputs that are computed
  std::int64_t joins_left_out = 0;      // of chunks that are not broadcast

  // Products follow one another.
  ProductCounts& operator+=(const ProductCounts& other) { return add_counts(*this, other); }
};

// From masks. `matches` of all joins are count_macs' effectual.
ProductCounts count_product(const PlacedProduct& placed);

// Moves values through the units. Adds to `result` (channels last) and to `matches`.
ProductCounts execute_product(const PlacedProduct& placed, const LayerShape& shape, Operation op,
                              const LayerValues& values, std::vector<float>& result, std::int64_t& matches);

// The least cycles of a join, ASSUMPTION(P3). `broadcast_empty`: the broadcast chunk has no non-zero.
constexpr std::int64_t least_cycles(EmptyJoin empty, bool broadcast_empty) {
  return empty == EmptyJoin::kCycle || (empty == EmptyJoin::kBroadcast && !broadcast_empty) ? 1 : 0;
}

}  // namespace lacuna::sparten
