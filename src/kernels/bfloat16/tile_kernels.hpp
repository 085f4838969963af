// The innermost loops of the bfloat16 convolutions: products of 16 x 32 by 32 x 16 tiles with sums in single
// precision, and the conversions into the orders that these want. One table for AMX, one that computes the
// same without it.
//
//   lines   [pixel][32 channels]: a row of a left tile is one line of 64 bytes
//   planes  [channel][pixels]: the left tiles of weight_grad, whose sums run over pixels
//   pairs   [pixel / 2][16 channels][2 pixels]: its right tiles
//   weights [16 pairs of inputs][16 outputs][2]: the right tiles of forward and input_grad
#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::kernels {

using Bfloat16 = std::uint16_t;

inline constexpr int kTileRows = 16;       // and columns
inline constexpr int kTileDepth = 32;      // products of one sum
inline constexpr int kTileElements = 512;  // of a left or a right tile

// sums[m][o][16][16] = sum over steps of lines at `offsets` (of two tiles of 16 lines) x weights.
struct LineProduct {
  const Bfloat16* lines;
  const std::ptrdiff_t* offsets;  // of each step, in elements
  std::int64_t steps;
  const Bfloat16* weights;  // [step][2][512]
  int row_tiles;            // 1 or 2, one after the other
  int column_tiles;         // 1 or 2
  float* sums;              // [2][2][256]
};

// The same for sums over pixels; `add` to what `sums` has.
struct PlaneProduct {
  const Bfloat16* planes;
  std::ptrdiff_t plane;      // elements from a channel to the next
  const Bfloat16* pairs[2];  // [step][512] of 16 channels each
  std::int64_t steps;
  bool add;
  float* sums;  // [2][2][256]
};

// Weights (oihw) of up to 16 x 32 channels and all taps to right tiles; tiles[t] is where that of tap t goes;
// null: nowhere.
struct WeightTiles {
  const float* weights;          // of the first output and input channel
  std::ptrdiff_t output_step;    // floats from an output channel to the next
  std::int64_t outputs, inputs;  // that exist
  std::int64_t taps;
  Bfloat16* const* tiles;
  float* scratch;  // 512 * taps floats
};

// The gradients of 16 x 16 channels back to oihw.
struct GradientTiles {
  const float* sums;   // [output][input] of tap 0
  std::ptrdiff_t tap;  // floats from a tap to the next
  std::int64_t outputs, inputs, taps;
  float* weights;
  std::ptrdiff_t output_step;
};

struct TileKernels {
  const char* name;
  // Around products, on each thread.
  void (*begin)();
  void (*end)();
  // 16 or 32 channels (`blocks` 1 or 2) of `count` pixels; the others of 32 are zero.
  void (*to_lines)(const float* src, std::ptrdiff_t pixel_step, std::ptrdiff_t block_step, int blocks,
                   std::int64_t count, Bfloat16* lines);
  void (*to_planes)(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, Bfloat16* planes,
                    std::ptrdiff_t plane);
  // `odd`: the first pixel is the second of its pair. What is missing of the first and the last pair is zero.
  void (*to_pairs)(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, bool odd,
                   Bfloat16* pairs);
  void (*multiply)(const LineProduct& product);
  void (*accumulate)(const PlaneProduct& product);
  // Row r of the sums plus bias to dst + at[r]; nowhere if that is negative.
  void (*store_rows)(const float* sums, const std::int64_t* at, float* dst, const float* bias, bool relu);
  // Sums over input channels (forward) or over output channels (input_grad: 32 outputs, 16 inputs).
  void (*pack_forward)(const WeightTiles& tiles);
  void (*pack_backward)(const WeightTiles& tiles);
  void (*unpack)(const GradientTiles& tiles);
};

// Each in a file compiled for its instruction set, which defines nothing else (tests/isa_objects).
extern const TileKernels kPortableTiles;
#if defined(__x86_64__)
extern const TileKernels kAmxTiles;
#endif

}  // namespace lacuna::kernels
