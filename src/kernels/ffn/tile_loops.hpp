// The innermost loops of products of a matrix with zeros, one table of them per instruction set.
//
// The non-zeros of a tile of 96 x 96 values are lists of four (quads), all four of one row, so that a loop
// over a tile has one count and no branch that a CPU could mispredict. The dense operand is packed in panels
// of 96 rows x 64 columns (24 KB, in L1), followed by a row of zeros that quads of fewer than four values are
// filled up with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

inline constexpr int kPanelRows = 96;
inline constexpr int kPanelColumns = 64;
inline constexpr int kQuad = 4;
inline constexpr std::int64_t kPanelFloats = (kPanelRows + 1) * kPanelColumns;
inline constexpr std::uint16_t kZeroRow = kPanelRows * kPanelColumns;  // its offset in a panel

// Quads of a tile. Offsets and rows are in floats, in a panel and in 96 x 64 rows next to one another.
struct TileQuads {
  const float* values;
  const std::uint16_t* offsets;
  const std::uint16_t* rows;  // one per quad
  std::int64_t count;         // of quads
};

struct TileLoops {
  const char* isa;
  // sums[row] += value * panel[offset], 64 columns each.
  void (*gather)(const TileQuads& quads, const float* panel, float* sums);
  // sums[slot] += the product of rows[row] and panel[offset] over 64 columns.
  void (*dots)(const TileQuads& quads, const float* panel, const float* rows, float* sums);
  // Writes the values that are not zero (`positive`: that are greater than `threshold`, or NaN) and
  // kPanelColumns times their places; returns how many. Both have room for 16 more.
  std::int64_t (*keep)(const float* from, std::int64_t count, bool positive, float threshold, float* values,
                       std::uint16_t* offsets);
};

const TileLoops& tile_loops(Isa isa);

extern const TileLoops kPortableTileLoops;
#if defined(__x86_64__)
extern const TileLoops kAvx2TileLoops;
extern const TileLoops kAvx512TileLoops;
#endif

}  // namespace lacuna::kernels
