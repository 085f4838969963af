// The innermost loops of Winograd's convolution F(4x4, 3x3) [Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016], one table of them per instruction set. A tile is 4x4 pixels of
// the result; it needs 6x6 pixels of the input, and both become 36 elements, each of which is a separate
// matrix product.
//
// Elements are stored as [element][block of 16 channels][tile][16], with `element` floats from one to the
// next: not a multiple of a page, or the 36 stores of a tile would share a set of the cache (2.5 times the
// time).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

inline constexpr int kTileSize = 4;    // pixels of the result, in each direction
inline constexpr int kWindowSize = 6;  // pixels of the input
inline constexpr int kElements = kWindowSize * kWindowSize;
inline constexpr int kProductTiles = 14;  // at most, of one call
inline constexpr int kProductBlocks = 2;  // of outputs

// Pixels of one block of channels that a tile reads or writes.
struct TilePixels {
  std::ptrdiff_t row, pixel;  // floats from a row or pixel to the next
  // Those inside the image, of kWindowSize or kTileSize in each direction.
  int first_row, end_row, first_column, end_column;
};
struct TileRead {
  const float* at;  // pixel (0, 0), which may be outside the image
  TilePixels pixels;
  const float* ahead;  // up to 4x4 pixels to prefetch
  int ahead_rows, ahead_columns;
  float* to;
  std::ptrdiff_t element;
};
struct TileWrite {
  const float* from;
  std::ptrdiff_t element;
  float* at;
  TilePixels pixels;
  float* ahead;
  int ahead_rows, ahead_columns;
  const float* bias;  // 16
  bool relu;
};

// A block of 16 others of one weight channel: nine taps and their 36 elements.
struct WeightTaps {
  float* taps;
  std::ptrdiff_t tap;  // floats from one to the next
  float* elements;
  std::ptrdiff_t element;
};

// sums[tile][output] = sum over channels of src[tile][channel] * weights[channel][output], of one element.
struct TileProduct {
  const float* src;
  std::ptrdiff_t src_block;  // floats from a block of 16 channels to the next
  std::int64_t blocks;
  const float* weights;  // [channel][outputs of the call]
  float* sums;
  std::ptrdiff_t sums_block;
  const float* next;  // src of the call that comes next, to prefetch
};

// sums[channel][other] (+)= sum over tiles of left[tile][channel] * right[tile][other], of one element.
struct TileSums {
  const float* left;  // outer_channels of a block
  const float* right;
  std::ptrdiff_t right_block;
  std::int64_t tiles;
  float* sums;  // a row per channel, of the blocks of the call
  bool add;
};

struct WinogradLoops {
  const char* isa;
  int product_tiles, product_blocks;  // of this instruction set
  int outer_channels;
  void (*read_input)(const TileRead&);     // 6x6 pixels
  void (*read_gradient)(const TileRead&);  // 4x4 pixels of the gradient of a result
  void (*write_result)(const TileWrite&);
  void (*expand_weights)(const WeightTaps&);
  void (*gather_weights)(const WeightTaps&);                            // gradients
  void (*multiply[kProductBlocks][kProductTiles])(const TileProduct&);  // [blocks - 1][tiles - 1]
  void (*outer[kProductBlocks])(const TileSums&);
};

// In files compiled for their instruction sets, which define nothing else (tests/isa_objects).
extern const WinogradLoops kPortableWinogradLoops;
#if defined(__x86_64__)
extern const WinogradLoops kAvx2WinogradLoops, kAvx512WinogradLoops;
#endif

}  // namespace lacuna::kernels
