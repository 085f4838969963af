// The innermost loops of the zero-skipping convolutions, one table of them per instruction set. The rest of
// the library is compiled for any CPU and calls through the table.
//
// 16 channels of a pixel are 64 contiguous bytes in all tensors here. Those of a blocked tensor are aligned
// to 64; those of a channels-last one may not be, so nothing relies on it (loads that allow it cost nothing
// more).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.hpp"

namespace lacuna::kernels {

inline constexpr int kLanes = 16;            // channels in a block, floats in a vector
inline constexpr int kMaxMaskBlocks = 4;     // one 64-bit mask covers 4 blocks of 16 channels
inline constexpr int kMaxOutputVectors = 8;  // outputs of a pixel kernel: up to 8 vectors

// For each pixel p: dst(p)[0..kv) += sum over the non-zero channels i of src(p) of src(p)[i] * weights[i].
// The values of src are compared with zero on the fly [SparseTrain: "identify zeros in a dense data
// representation without transforming the data"].
struct PixelRun {
  const float* src;          // channel block 0 of the first pixel
  std::ptrdiff_t src_step;   // floats from a pixel to the next
  std::ptrdiff_t src_block;  // floats from a channel block to the next
  float* dst;                // vector 0 of the first pixel
  std::ptrdiff_t dst_step;
  std::ptrdiff_t dst_block;
  const float* weights;  // [channel][kv * 16]
  const float* init;     // [kv * 16], initial value of dst; null: adds to dst
  std::int64_t count;    // pixels, at least 1
  // Memory to bring into L2 meanwhile, four lines per pixel: ahead + ahead_offsets[0 .. 4 * count); null:
  // none.
  const float* ahead;
  const std::ptrdiff_t* ahead_offsets;
  // Distance, in floats, from a pixel of dst to the one whose lines are prefetched meanwhile; 0: none.
  std::ptrdiff_t results_ahead;
};
using PixelKernel = void (*)(const PixelRun&);

// Masks and packed non-zeros of one row of pixels: masks[w] has a bit for each of blocks * 16 channels,
// values are the non-zeros in order (all pixels of the row after one another). `offsets`, unless null: where
// those of each pixel begin, `first` for the first one. Returns where the last pixel's end. Up to 16 floats
// past the last value are written.
struct PixelRow {
  const float* src;
  std::ptrdiff_t src_step;   // floats from a pixel to the next
  std::ptrdiff_t src_block;  // floats from a channel block to the next
  int blocks;
  std::int64_t width;
};
using PackRow = std::uint32_t (*)(const PixelRow& row, std::uint32_t first, std::uint32_t* offsets,
                                  std::uint64_t* masks, float* values);

// A run of pixels whose non-zeros are packed: what PixelRun does, without looking for them again.
struct PackedRun {
  const std::uint64_t* masks;    // of the first pixel
  const std::uint32_t* offsets;  // into values
  std::ptrdiff_t step;           // masks and offsets from a pixel to the next
  const float* values;
  float* dst;
  std::ptrdiff_t dst_step;
  std::ptrdiff_t dst_block;
  const float* weights;  // [channel][kv * 16]
  const float* init;     // as in PixelRun
  std::int64_t count;
};
using PackedKernel = void (*)(const PackedRun&);

// One input row of a 3x3, stride 1, padding 1 convolution into 16 output channels. Input pixel w adds to
// output columns w-1, w, w+1 of up to three output rows; out[r] is the row that kernel row r reaches, null if
// it is outside. `values` may be read up to the last non-zero only.
struct WindowRow {
  float* out[3];
  std::ptrdiff_t out_step;  // floats from a pixel to the next
  std::int64_t width;       // at least 1
  const std::uint64_t* masks;
  const float* values;
  const float* weights;  // [channel][9][16]
};
using WindowKernel = void (*)(const WindowRow&);
// Returns whether window_pairs takes less long than window for a row with these masks.
using PairsPay = bool (*)(const std::uint64_t* masks, std::int64_t width);

// Weight gradient of a 3x3, stride 1 convolution: for each channel of the checked operand, the list of its
// non-zeros in a tile of pixels against the padded tile of the dense operand.
struct ListTile {
  const float* values;         // [channel][stride], the non-zeros
  const std::uint16_t* slots;  // [channel][stride], where they are
  const std::int32_t* counts;  // [channel]
  std::ptrdiff_t stride;
  std::int64_t channels;
  const float* dense;  // [slot][2 * 16], rows of `pitch` slots
  float* dw;           // [channel][9][2 * 16], added to
  // Unless null: non-zeros of neighbouring pixels of a row; the lists above have the others.
  const float* pair_values;         // [channel][stride], both of each
  const std::uint16_t* pair_slots;  // [channel][stride], of the first
  const std::int32_t* pair_counts;  // [channel]
};
using ListKernel = void (*)(const ListTile&);

// Builds the lists of 16 channels of a tile. Pixel row y of the tile is at src + rows[y] and has `width` <=
// 16 pixels; its slots are row_slots[y] .. + width.
struct ListBuild {
  const float* src;
  std::ptrdiff_t src_step;  // floats from a pixel to the next
  const std::ptrdiff_t* rows;
  const std::int32_t* row_slots;
  std::int64_t row_count;
  int width;
  float* values;  // [16][stride]
  std::uint16_t* slots;
  std::int32_t* counts;
  std::ptrdiff_t stride;  // room for 16 more than the pixels of the tile
  float* pair_values;     // null: all non-zeros in the lists above
  std::uint16_t* pair_slots;
  std::int32_t* pair_counts;
};
using BuildLists = void (*)(const ListBuild&);

// 16 channels of `count` <= 64 pixels, transposed: dst[c][p], pixels past `count` up to a multiple of 16 are
// zero.
using TransposeTile = void (*)(const float* src, const std::ptrdiff_t* pixel_offsets, int count, float* dst,
                               std::ptrdiff_t dst_stride);

// `vectors` channel blocks of each pixel, side by side: dst[p][vectors * 16].
using GatherTile = void (*)(const float* src, std::ptrdiff_t src_block, const std::ptrdiff_t* pixel_offsets,
                            int count, int vectors, float* dst);
// The same for pixels that follow one another, and kListVectors.
using CopyPixels = void (*)(const float* src, std::ptrdiff_t src_step, std::ptrdiff_t src_block,
                            std::int64_t count, float* dst);

// Multiply-adds on registers only, `turns` x 16 vectors of them; returns the floating-point operations done.
using PeakLoop = double (*)(std::int64_t turns);

struct MicroKernels {
  const char* isa;
  int pixel_vectors;  // most output vectors of a pixel kernel (limited by registers)
  PixelKernel pixel[kMaxOutputVectors + 1][kMaxMaskBlocks + 1];  // [kv][channel blocks]
  TransposeTile transpose;
  GatherTile gather;
  PeakLoop peak;
  // Null where the instruction set has too few registers; the pixel kernels are used instead.
  PackRow pack_row = nullptr;
  PackedKernel packed[kMaxOutputVectors + 1] = {};  // [kv]
  WindowKernel window = nullptr;
  WindowKernel window_pairs = nullptr;
  PairsPay pairs_pay = nullptr;
  ListKernel list_pitch16 = nullptr;
  ListKernel list_pitch9 = nullptr;
  BuildLists build_lists = nullptr;
  CopyPixels copy_pixels = nullptr;
};

inline constexpr int kListVectors = 2;  // 9 taps x 2 vectors of accumulators

const MicroKernels& micro_kernels(Isa isa);

// Each is defined in a file compiled for its instruction set. Those files define nothing else that other
// files could share: inline functions compiled for AVX-512 must not end up in the rest of the program
// (tests/isa_objects).
extern const MicroKernels kPortableKernels;
#if defined(__x86_64__)
extern const MicroKernels kAvx2Kernels;
extern const MicroKernels kAvx512Kernels;
#endif

}  // namespace lacuna::kernels
