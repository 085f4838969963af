// The innermost loops of the convolutions that skip zero weights, one table per instruction set. The 16 lanes
// of a vector are 16 tiles (geometry.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

// A non-zero weight: where its first input is (bytes from the inputs of the block) and its value.
struct WeightEntry {
  std::uint32_t offset;
  float value;
};
// The entries of one result channel in a block.
struct WeightRow {
  std::uint32_t channel, count;
};

// Pixels of a tile: rows x cols, `pitch` slots from a row of inputs to the next.
struct TileSize {
  int rows, cols, pitch;
};

// Lines to fetch while a block is worked on, a few per row: base + offsets[i] of one block of channels after
// another.
struct LinesAhead {
  const float* base;
  const std::int64_t* offsets;  // -1 does no harm
  std::int64_t count;           // of one block, a multiple of 16
  std::int64_t block_floats;
  std::int64_t lines;    // left, of all blocks
  std::int64_t next;     // in the block
  std::int64_t per_row;  // a multiple of 4
};

// sums[channel] += the row's weights x inputs, for all rows of a block.
struct PrunedRows {
  TileSize tile;
  const float* inputs;  // [channel][slot][16]
  const WeightEntry* entries;
  const WeightRow* rows;
  std::int64_t row_count;
  float* sums;        // [channel][pixel][16]
  const float* init;  // [channel]: where sums start; null: adds to them
  LinesAhead* read;   // inputs of the next tiles, into L2
  LinesAhead* write;  // results of these tiles
};

// out[entry] += sum over the tile's pixels and lanes of inputs x gradients: the gradient of each kept weight.
struct KeptRows {
  TileSize tile;
  const float* inputs;
  const WeightEntry* entries;
  const WeightRow* rows;
  std::int64_t row_count;
  const float* gradients;  // [channel][pixel][16]
  float* out;              // [entry]
  LinesAhead* inputs_ahead;
};

// 16 channels of 16 pixels each, transposed: to[channel][slot][lane].
struct PackLanes {
  const float* from;            // the tensor, at the block of channels
  const std::int64_t* offsets;  // [count][16]; -1: zero
  const std::int32_t* slots;    // [count]
  std::int64_t count;
  float* to;
  std::int64_t channel_floats;  // from a channel to the next
};
// The way back: 16 channels of a tile, to their pixels.
struct UnpackLanes {
  const float* from;   // [channel][pixel][16]; null: `value` for every pixel
  const float* value;  // [channel]
  std::int64_t pixels;
  std::int64_t begin, end;      // of them, those to write
  const std::int64_t* offsets;  // [pixel][16]; -1: none
  float* to;
  bool relu;
  bool around_caches;  // a result that no cache would keep
};

struct PrunedKernels {
  const char* isa;
  void (*rows)(const PrunedRows&);
  void (*kept)(const KeptRows&);
  void (*pack)(const PackLanes&);
  void (*unpack)(const UnpackLanes&);
  // Writes where the non-zeros of `count` floats are and returns how many; `places` has room for 16 more than
  // `count`.
  std::int64_t (*nonzeros)(const float* from, std::int64_t count, std::uint32_t* places);
};

const PrunedKernels& pruned_kernels(Isa isa);

extern const PrunedKernels kPortablePruned;
#if defined(__x86_64__)
extern const PrunedKernels kAvx2Pruned;
extern const PrunedKernels kAvx512Pruned;
#endif

}  // namespace lacuna::kernels
