// Placement of a product on the clusters: which streams are held, which unit holds which, which cluster does
// what.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "models/sparten/config.hpp"
#include "sim/tile/tile_grid.hpp"
#include "sim/workload/needed_outputs.hpp"
#include "sim/workload/operand_streams.hpp"

namespace lacuna::sparten {

// Streams of an operand as SparTen holds them: bit masks cut into chunks along the reduction.

// Streams are read in words of 64 lanes.
inline constexpr int kLanes = 64;

// Division of a reduction into chunks. It consists of segments (the channels of a tap, the positions of a
// sample) whose elements follow one another in memory.
struct ChunkLayout {
  std::int64_t segments = 0;
  std::int64_t segment = 0;  // elements
  std::int64_t chunk = 128;  // elements
  bool aligned = true;       // a segment begins a chunk

  std::int64_t words() const { return ceil_div(chunk, 64); }  // of a chunk's mask
  std::int64_t chunks() const {
    return aligned ? segments * ceil_div(segment, chunk) : ceil_div(segments * segment, chunk);
  }
  // Returns the place of element `index` of a segment: the chunk, and the bit inside it.
  struct Place {
    std::int64_t chunk, bit;
  };
  Place place(std::int64_t in_segment, std::int64_t index) const {
    if (aligned) return {in_segment * ceil_div(segment, chunk) + index / chunk, index % chunk};
    const std::int64_t element = in_segment * segment + index;
    return {element / chunk, element % chunk};
  }
};
ChunkLayout chunk_layout(const OperandStreams& streams, const Config& config);

// The masks of one stream: word w of chunk c goes to out[(c * words + w) * pitch], so that streams can be
// interleaved. What is not set must be 0 before. Returns the number of non-zeros.
std::int64_t read_masks(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                        std::uint64_t* out, std::int64_t pitch = 1);

// A SparseMap: the masks of one stream and, in their order, its non-zero values.
struct SparseMap {
  std::vector<std::uint64_t> masks;
  std::vector<std::vector<float>> values;  // by chunk

  std::span<const std::uint64_t> mask(std::int64_t chunk, std::int64_t words) const {
    return {masks.data() + chunk * words, static_cast<std::size_t>(words)};
  }
};
SparseMap read_sparse_map(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                          const TensorValues& values);

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
  // The outputs that are computed, by broadcast stream and held stream; null: all.
  std::shared_ptr<const NeededOutputs> needed = nullptr;

  bool computes(std::int64_t broadcast_stream, std::int64_t held_stream) const {
    return needed == nullptr || needed->needed(broadcast_stream, held_stream);
  }
};
PlacedProduct place_product(const LaneProduct& product, Operation op, const Config& config);

}  // namespace lacuna::sparten
