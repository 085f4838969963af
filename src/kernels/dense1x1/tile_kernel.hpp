// The innermost loop of the dense 1x1 convolution: sums of a few pixels by one or two blocks of 16 outputs,
// which stay in registers while the channels go by. Tensors are blocked: 16 floats from a pixel to the next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::kernels {

inline constexpr int kTilePixels = 14;  // 28 sums, two vectors of weights and a broadcast: 31 of 32 registers
inline constexpr int kTileBlocks = 2;

struct PixelTile {
  const float* src;
  std::ptrdiff_t src_block;  // floats from a block of 16 channels to the next
  const float* next;         // src of the tile that comes next, to have in L2 by then
  std::int64_t blocks;       // of input channels
  const float* weights;      // [block][16 channels][outputs of the tile]
  float* dst;
  std::ptrdiff_t dst_block;
  const float* bias;  // of the outputs of the tile; null: add to what dst has
  bool relu;
};

struct PixelTiles {
  const char* name;
  void (*run[kTileBlocks][kTilePixels])(const PixelTile&);  // [blocks of outputs - 1][pixels - 1]
};

// In a file compiled for its instruction set, which defines nothing else (tests/isa_objects).
#if defined(__x86_64__)
extern const PixelTiles kAvx512PixelTiles;
#endif

}  // namespace lacuna::kernels
