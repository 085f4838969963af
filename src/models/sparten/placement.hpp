// How a product is laid on the clusters: which streams are held, which unit holds which, which cluster does
// what.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/sparten/chunks.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::sparten {

// The held streams that a cluster works on together, one or two per unit. Which two share a unit may change
// from chunk to chunk (GB-H); how many units have one and how many two does not.
struct HeldGroup {
  std::vector<std::int64_t> pairs;    // [2i] and [2i + 1] share a unit
  std::vector<std::int64_t> singles;  // have a unit to themselves

  std::int64_t streams() const { return static_cast<std::int64_t>(pairs.size() + singles.size()); }
  std::int64_t units() const { return static_cast<std::int64_t>(pairs.size() / 2 + singles.size()); }
};

// `nonzeros` of each held stream decide their order where they are paired by density.
std::vector<HeldGroup> group_streams(const std::vector<std::int64_t>& nonzeros, const Config& config);

// The same streams paired for one chunk, `nonzeros` of theirs in it by stream [GB-H].
HeldGroup pair_for_chunk(const HeldGroup& group, const std::vector<std::int64_t>& nonzeros,
                         const Config& config);

struct PlacedProduct {
  const LaneProduct* product = nullptr;
  const OperandStreams* broadcast = nullptr;
  const OperandStreams* held = nullptr;
  Config config;  // as the product runs: without pairs where they would leave clusters idle
  ChunkLayout layout;
  // Rows: broadcast streams; columns: groups of held streams; tiles: clusters.
  TileGrid grid;
};
PlacedProduct place_product(const LaneProduct& product, Operation op, const Config& config);

}  // namespace lacuna::sparten
