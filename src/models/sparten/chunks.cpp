#include "models/sparten/chunks.hpp"

#include <algorithm>
#include <bit>

namespace lacuna::sparten {
namespace {

std::int64_t segment_length(const OperandStreams& streams) {
  switch (streams.axis) {
    case LaneAxis::kChannels:
      return streams.channels;
    case LaneAxis::kPositions:
      return streams.grid.h * streams.grid.w;
    case LaneAxis::kImages:
      return streams.images;
  }
  return 0;
}

// Calls visit(segment, first element, step of 64 lanes) along the reduction.
template <typename Visit>
void for_each_step(const ChunkLayout& layout, const Visit& visit) {
  std::int64_t step = 0;
  for (std::int64_t segment = 0; segment < layout.segments; ++segment) {
    for (std::int64_t first = 0; first < layout.segment; first += kLanes) visit(segment, first, step++);
  }
}

}  // namespace

ChunkLayout chunk_layout(const OperandStreams& streams, const Config& config) {
  ChunkLayout layout;
  layout.segment = segment_length(streams);
  layout.segments = streams.steps() / ceil_div(layout.segment, streams.lanes);
  layout.chunk = config.chunk;
  layout.aligned = config.packing == ChunkPacking::kAligned;
  return layout;
}

std::int64_t read_masks(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                        std::uint64_t* out, std::int64_t pitch) {
  const std::int64_t words = layout.words();
  std::int64_t nonzeros = 0;
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    std::uint64_t bits = streams.word(stream, step);
    nonzeros += std::popcount(bits);
    // A word of lanes may span words and chunks of the mask.
    std::int64_t index = first;
    while (bits != 0) {
      const auto at = layout.place(segment, index);
      const std::int64_t room = std::min(64 - at.bit % 64, layout.chunk - at.bit);
      out[(at.chunk * words + at.bit / 64) * pitch] |=
          (room < 64 ? bits & ((std::uint64_t{1} << room) - 1) : bits) << (at.bit % 64);
      bits = room < 64 ? bits >> room : 0;
      index += room;
    }
  });
  return nonzeros;
}

SparseMap read_sparse_map(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                          const TensorValues& values) {
  SparseMap map;
  map.masks.resize(static_cast<std::size_t>(layout.chunks() * layout.words()));
  map.values.resize(static_cast<std::size_t>(layout.chunks()));
  read_masks(streams, stream, layout, map.masks.data());
  float lanes[kLanes];
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    const std::uint64_t bits = streams.word(stream, step);
    streams.values(stream, step, values, lanes);
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      map.values[static_cast<std::size_t>(layout.place(segment, first + lane).chunk)].push_back(lanes[lane]);
    }
  });
  return map;
}

}  // namespace lacuna::sparten
