#include "models/sparten/traffic.hpp"

#include <algorithm>

namespace lacuna::sparten {
namespace {

// How often clusters take in what all of their streams of the other operand need: a cluster with so many
// streams takes ceil(streams / reuse) passes, and up to `multicast` neighbours share the reads of theirs.
struct Passes {
  std::int64_t reads = 0;
  std::int64_t writes = 0;
};
template <typename StreamsOf>
Passes count_passes(std::int64_t clusters, const StreamsOf& streams_of, std::int64_t reuse,
                    std::int64_t multicast) {
  Passes passes;
  for (std::int64_t first = 0; first < clusters; first += multicast) {
    std::int64_t most = 0;
    for (std::int64_t i = first; i < std::min(clusters, first + multicast); ++i) {
      const std::int64_t own = ceil_div(streams_of(i), reuse);
      passes.writes += own;
      most = std::max(most, own);
    }
    passes.reads += most;
  }
  return passes;
}

std::int64_t in_block(std::int64_t items, std::int64_t per_block, std::int64_t block) {
  return std::clamp<std::int64_t>(items - block * per_block, 0, per_block);
}

}  // namespace

UnitTraffic& UnitTraffic::operator+=(const UnitTraffic& other) {
  joins += other.joins;
  joins_left_out += other.joins_left_out;
  chunks_received += other.chunks_received;
  broadcast_values_read += other.broadcast_values_read;
  broadcast_mask_bits_read += other.broadcast_mask_bits_read;
  held_values_read += other.held_values_read;
  held_mask_bits_read += other.held_mask_bits_read;
  values_written += other.values_written;
  mask_bits_written += other.mask_bits_written;
  return *this;
}

UnitTraffic unit_traffic(const PlacedProduct& placed, const ProductCounts& counts) {
  const TileGrid& grid = placed.grid;
  const Config& config = placed.config;
  const std::int64_t held = placed.held->count();
  const std::int64_t chunks = placed.layout.chunks();
  const std::int64_t sent = placed.broadcast->count() * chunks - counts.empty_broadcasts;  // in one pass
  // A broadcast stream is sent once for each group of held streams.
  const auto groups_of = [&](std::int64_t column) {
    return in_block(grid.column_groups, grid.column_groups_per_tile(), column);
  };
  const Passes by_groups = count_passes(grid.tile_columns, groups_of, 1, config.multicast);
  // ASSUMPTION(P7): held chunks stay in their units while `held_reuse` broadcast chunks pass.
  const auto streams_of = [&](std::int64_t row) {
    return config.dealing == Dealing::kBlocks ? in_block(grid.row_groups, grid.row_groups_per_tile(), row)
                                              : ceil_div(grid.row_groups - row, grid.tile_rows);
  };
  const Passes by_streams = count_passes(grid.tile_rows, streams_of, config.held_reuse, config.multicast);
  UnitTraffic traffic;
  traffic.joins = sent * held;
  traffic.joins_left_out = counts.empty_broadcasts * held;
  traffic.chunks_received = sent * counts.held_units;
  traffic.broadcast_values_read = counts.broadcast_nonzeros * by_groups.reads;
  traffic.broadcast_mask_bits_read = sent * config.chunk * by_groups.reads;
  traffic.held_values_read = counts.held_nonzeros * by_streams.reads;
  traffic.held_mask_bits_read = held * chunks * config.chunk * by_streams.reads;
  traffic.values_written =
      counts.broadcast_nonzeros * counts.held_units + counts.held_nonzeros * by_streams.writes;
  traffic.mask_bits_written = (traffic.chunks_received + held * chunks * by_streams.writes) * config.chunk;
  return traffic;
}

}  // namespace lacuna::sparten
