// The same as AMX computes, one product at a time: to check the rest on any CPU.
#include "kernels/bfloat16/tile_kernels.hpp"
#include "tensor/bfloat16.hpp"

namespace lacuna::kernels {
namespace {

void nothing() {}

// AMX and the conversions of AVX-512 take denormals for zero.
Bfloat16 rounded(float value) {
  const Bfloat16 bits = float_to_bfloat16(value);
  const bool denormal = value < 0x1p-126F && value > -0x1p-126F;
  return denormal ? static_cast<Bfloat16>(bits & 0x8000U) : bits;
}

void to_lines(const float* src, std::ptrdiff_t pixel_step, std::ptrdiff_t block_step, int blocks,
              std::int64_t count, Bfloat16* lines) {
  for (std::int64_t p = 0; p < count; ++p)
    for (int c = 0; c < kTileDepth; ++c)
      lines[p * kTileDepth + c] =
          c / 16 < blocks ? rounded(src[p * pixel_step + c / 16 * block_step + c % 16]) : Bfloat16{0};
}

void to_planes(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, Bfloat16* planes,
               std::ptrdiff_t plane) {
  for (std::int64_t p = 0; p < count; ++p)
    for (int c = 0; c < 16; ++c) planes[c * plane + p] = rounded(src[p * pixel_step + c]);
}

void to_pairs(const float* src, std::ptrdiff_t pixel_step, std::int64_t count, bool odd, Bfloat16* pairs) {
  const std::int64_t before = odd ? 1 : 0;
  for (std::int64_t p = 0; p < (before + count + 1) / 2 * 2; ++p)
    for (int c = 0; c < 16; ++c)
      pairs[p / 2 * 32 + 2 * c + p % 2] =
          p >= before && p - before < count ? rounded(src[(p - before) * pixel_step + c]) : Bfloat16{0};
}

// sums[16][16] += left[row][32] x right[16 pairs][16][2]
void multiply_tile(const Bfloat16* left, std::ptrdiff_t row, const Bfloat16* right, float* sums) {
  for (int m = 0; m < 16; ++m)
    for (int o = 0; o < 16; ++o)
      for (int k = 0; k < kTileDepth; ++k)
        sums[m * 16 + o] +=
            bfloat16_to_float(left[m * row + k]) * bfloat16_to_float(right[k / 2 * 32 + 2 * o + k % 2]);
}

void multiply(const LineProduct& r) {
  for (int i = 0; i < 4 * 256; ++i) r.sums[i] = 0;
  for (std::int64_t step = 0; step < r.steps; ++step)
    for (int m = 0; m < r.row_tiles; ++m)
      for (int o = 0; o < r.column_tiles; ++o)
        multiply_tile(r.lines + r.offsets[step] + m * kTileElements, kTileDepth,
                      r.weights + (2 * step + o) * kTileElements, r.sums + (2 * m + o) * 256);
}

void accumulate(const PlaneProduct& r) {
  for (int i = 0; i < 4 * 256 && !r.add; ++i) r.sums[i] = 0;
  for (std::int64_t step = 0; step < r.steps; ++step)
    for (int m = 0; m < 2; ++m)
      for (int o = 0; o < 2; ++o)
        multiply_tile(r.planes + m * 16 * r.plane + step * kTileDepth, r.plane,
                      r.pairs[o] + step * kTileElements, r.sums + (2 * m + o) * 256);
}

void store_rows(const float* sums, const std::int64_t* at, float* dst, const float* bias, bool relu) {
  for (int r = 0; r < 16; ++r)
    for (int o = 0; o < 16 && at[r] >= 0; ++o) {
      const float value = sums[r * 16 + o] + bias[o];
      dst[at[r] + o] = relu && value < 0 ? 0 : value;
    }
}

Bfloat16 weight_at(const WeightTiles& w, std::int64_t output, std::int64_t input, std::int64_t tap) {
  if (output >= w.outputs || input >= w.inputs) return 0;
  return rounded(w.weights[output * w.output_step + input * w.taps + tap]);
}

void pack_forward(const WeightTiles& w) {
  for (std::int64_t t = 0; t < w.taps; ++t)
    for (int k = 0; k < kTileDepth && w.tiles[t] != nullptr; ++k)
      for (int o = 0; o < 16; ++o) w.tiles[t][k / 2 * 32 + 2 * o + k % 2] = weight_at(w, o, k, t);
}

void pack_backward(const WeightTiles& w) {
  for (std::int64_t t = 0; t < w.taps; ++t)
    for (int k = 0; k < kTileDepth && w.tiles[t] != nullptr; ++k)
      for (int c = 0; c < 16; ++c) w.tiles[t][k / 2 * 32 + 2 * c + k % 2] = weight_at(w, k, c, t);
}

void unpack(const GradientTiles& g) {
  for (std::int64_t o = 0; o < g.outputs; ++o)
    for (std::int64_t c = 0; c < g.inputs; ++c)
      for (std::int64_t t = 0; t < g.taps; ++t)
        g.weights[o * g.output_step + c * g.taps + t] = g.sums[t * g.tap + o * 16 + c];
}

}  // namespace

const TileKernels kPortableTiles = {"emulated", nothing,    nothing,    to_lines,     to_planes,     to_pairs,
                                    multiply,   accumulate, store_rows, pack_forward, pack_backward, unpack};

}  // namespace lacuna::kernels
