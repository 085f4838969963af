#include "models/sparten/chunks.hpp"

#include <algorithm>
#include <bit>

namespace lacuna::sparten {
namespace {

// Calls visit(segment, first element, step of 64 lanes) along the reduction.
template <typename Visit>
void for_each_step(const ChunkLayout& layout, const Visit& visit) {
  std::int64_t step = 0;
  for (std::int64_t segment = 0; segment < layout.segments; ++segment) {
    for (std::int64_t first = 0; first < layout.segment; first += kLanes) visit(segment, first, step++);
  }
}

// Puts the bits of a step where they belong in the masks of the chunks.
void place_bits(const ChunkLayout& layout, std::int64_t segment, std::int64_t first, std::uint64_t bits,
                std::uint64_t* out, std::int64_t pitch) {
  // A word of lanes may span words and chunks of the mask.
  while (bits != 0) {
    const auto at = layout.place(segment, first);
    const std::int64_t room = std::min(64 - at.bit % 64, layout.chunk - at.bit);
    out[(at.chunk * layout.words() + at.bit / 64) * pitch] |=
        (room < 64 ? bits & ((std::uint64_t{1} << room) - 1) : bits) << (at.bit % 64);
    bits = room < 64 ? bits >> room : 0;
    first += room;
  }
}

}  // namespace

ChunkLayout chunk_layout(const OperandStreams& streams, const Config& config) {
  ChunkLayout layout;
  layout.segment = streams.axis_elements();
  layout.segments = streams.steps() / streams.axis_steps();
  layout.chunk = config.chunk;
  layout.aligned = config.packing == ChunkPacking::kAligned;
  return layout;
}

std::int64_t read_masks(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                        std::uint64_t* out, std::int64_t pitch) {
  std::int64_t nonzeros = 0;
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    const std::uint64_t bits = streams.word(stream, step);
    nonzeros += std::popcount(bits);
    place_bits(layout, segment, first, bits, out, pitch);
  });
  return nonzeros;
}

SparseMap read_sparse_map(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                          const TensorValues& values) {
  SparseMap map;
  map.masks.resize(static_cast<std::size_t>(layout.chunks() * layout.words()));
  map.values.resize(static_cast<std::size_t>(layout.chunks()));
  float lanes[kLanes];
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    const std::uint64_t bits = streams.values(stream, step, values, lanes);
    place_bits(layout, segment, first, bits, map.masks.data(), 1);
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      map.values[static_cast<std::size_t>(layout.place(segment, first + lane).chunk)].push_back(lanes[lane]);
    }
  });
  return map;
}

}  // namespace lacuna::sparten
