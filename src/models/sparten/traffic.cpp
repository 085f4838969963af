#include "models/sparten/traffic.hpp"

namespace lacuna::sparten {

UnitTraffic unit_traffic(const PlacedProduct& placed, const ProductCounts& counts) {
  const TileGrid& grid = placed.grid;
  const Config& config = placed.config;
  const std::int64_t held = placed.held->count();
  const std::int64_t chunks = placed.layout.chunks();
  const std::int64_t sent = placed.broadcast->count() * chunks - counts.empty_broadcasts;  // in one pass
  // A broadcast stream is sent once for each group of held streams.
  const TilePasses by_groups = grid.column_passes(1, config.multicast);
  // ASSUMPTION(P7): held chunks stay in their units while `held_reuse` broadcast chunks pass.
  const TilePasses by_streams = grid.row_passes(config.held_reuse, config.multicast);
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
