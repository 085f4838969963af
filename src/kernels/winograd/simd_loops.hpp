// The loops of tile_loops.hpp for any instruction set. Included by one file for each, which defines the width
// of its registers, the sizes of its products and the names of its table and instruction set.
#include "kernels/winograd/tile_loops.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = LACUNA_WIDTH;  // floats in a register
#include "kernels/sparse/simd.hpp"
#include "kernels/winograd/transforms.hpp"

// Sums of a product in registers: 28 of 32 (AVX-512), 12 of 16 (AVX2), 8 of 16 (SSE); the others hold a
// vector of each block of weights and a broadcast value.
constexpr int kMaxTiles = LACUNA_PRODUCT_TILES, kMaxBlocks = LACUNA_PRODUCT_BLOCKS;
// Sums of weight gradients: at least eight registers, which hide the latency of multiply-adds on two pipes.
constexpr int kOuterChannels = LACUNA_OUTER_CHANNELS;

template <typename Transform>
void read_tile(const TileRead& tile) {
  for (int i = 0; i < tile.ahead_rows; ++i)
    for (int j = 0; j < tile.ahead_columns; ++j)
      __builtin_prefetch(tile.ahead + i * tile.pixels.row + j * tile.pixels.pixel);
  const TilePixels& p = tile.pixels;
  const auto pixel = [&](int i, int j) LACUNA_LAMBDA_INLINE { return tile.at + i * p.row + j * p.pixel; };
  const auto store = [&](int i, int j, const Simd::V& v) LACUNA_LAMBDA_INLINE {
    Simd::store(tile.to + (i * Transform::kOut + j) * tile.element, v);
  };
  constexpr int kSize = Transform::kIn;
  if (p.first_row == 0 && p.first_column == 0 && p.end_row == kSize && p.end_column == kSize)
    return transform<Transform>([&](int i, int j) LACUNA_LAMBDA_INLINE { return Simd::load(pixel(i, j)); },
                                store);
  alignas(64) static constexpr float kZeros[kLanes] = {};
  transform<Transform>(
      [&](int i, int j) LACUNA_LAMBDA_INLINE {
        const bool inside = i >= p.first_row && i < p.end_row && j >= p.first_column && j < p.end_column;
        return Simd::load(inside ? pixel(i, j) : kZeros);
      },
      store);
}

void write_tile(const TileWrite& tile) {
  const TilePixels& p = tile.pixels;
  for (int i = 0; i < tile.ahead_rows; ++i)
    for (int j = 0; j < tile.ahead_columns; ++j) __builtin_prefetch(tile.ahead + i * p.row + j * p.pixel, 1);
  const Simd::V bias = Simd::load(tile.bias);
  const auto store = [&](int i, int j, const Simd::V& v) LACUNA_LAMBDA_INLINE {
    const Simd::V value = Simd::add(v, bias);
    Simd::store(tile.at + i * p.row + j * p.pixel, tile.relu ? Simd::relu(value) : value);
  };
  const auto load = [&](int i, int j) LACUNA_LAMBDA_INLINE {
    return Simd::load(tile.from + (i * kWindowSize + j) * tile.element);
  };
  if (p.end_row == kTileSize && p.end_column == kTileSize) return transform<ResultTransform>(load, store);
  transform<ResultTransform>(load, [&](int i, int j, const Simd::V& v) LACUNA_LAMBDA_INLINE {
    if (i < p.end_row && j < p.end_column) store(i, j, v);
  });
}

void expand_taps(const WeightTaps& w) {
  transform<WeightTransform>(
      [&](int i, int j) LACUNA_LAMBDA_INLINE { return Simd::load(w.taps + (i * 3 + j) * w.tap); },
      [&](int i, int j, const Simd::V& v)
          LACUNA_LAMBDA_INLINE { Simd::store(w.elements + (i * kWindowSize + j) * w.element, v); });
}

void gather_taps(const WeightTaps& w) {
  transform<WeightGradientTransform>(
      [&](int i, int j)
          LACUNA_LAMBDA_INLINE { return Simd::load(w.elements + (i * kWindowSize + j) * w.element); },
      [&](int i, int j, const Simd::V& v)
          LACUNA_LAMBDA_INLINE { Simd::store(w.taps + (i * 3 + j) * w.tap, v); });
}

template <int kTiles, int kBlocks>
void multiply_tiles(const TileProduct& t) {
  Simd::V sums[kTiles][kBlocks];
#pragma GCC unroll 16
  for (int p = 0; p < kTiles; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) sums[p][b] = Simd::zero();
  const float* weights = t.weights;
  const float* src = t.src;
  const float* next = t.next;
  for (std::int64_t block = 0; block < t.blocks; ++block, src += t.src_block, next += t.src_block) {
#pragma GCC unroll 4
    for (int c = 0; c < kLanes; ++c, weights += kLanes * kBlocks) {
      constexpr int kAhead = 512;  // floats
      Simd::V w[kBlocks];
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) {
        w[b] = Simd::load(weights + kLanes * b);
        __builtin_prefetch(weights + kLanes * b + kAhead);
      }
      if (c < kTiles) __builtin_prefetch(next + kLanes * c);
#pragma GCC unroll 16
      for (int p = 0; p < kTiles; ++p) {
        const Simd::V x = Simd::broadcast(src + kLanes * p + c);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) sums[p][b] = Simd::fma(x, w[b], sums[p][b]);
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kTiles; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) Simd::store(t.sums + kLanes * p + b * t.sums_block, sums[p][b]);
}

template <int kBlocks>
void outer_products(const TileSums& t) {
  Simd::V sums[kOuterChannels][kBlocks];
  float* const to = t.sums;
#pragma GCC unroll 16
  for (int c = 0; c < kOuterChannels; ++c)
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b)
      sums[c][b] = t.add ? Simd::load(to + (c * kBlocks + b) * kLanes) : Simd::zero();
  const float *left = t.left, *right = t.right;
#pragma GCC unroll 2
  for (std::int64_t tile = 0; tile < t.tiles; ++tile, left += kLanes, right += kLanes) {
    Simd::V y[kBlocks];
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) y[b] = Simd::load(right + b * t.right_block);
#pragma GCC unroll 16
    for (int c = 0; c < kOuterChannels; ++c) {
      const Simd::V x = Simd::broadcast(left + c);
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) sums[c][b] = Simd::fma(x, y[b], sums[c][b]);
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < kOuterChannels; ++c)
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) Simd::store(to + (c * kBlocks + b) * kLanes, sums[c][b]);
}

// Null where the sums do not fit the registers.
template <int kTiles, int kBlocks>
consteval auto product() -> void (*)(const TileProduct&) {
  if constexpr (kTiles <= kMaxTiles && kBlocks <= kMaxBlocks)
    return multiply_tiles<kTiles, kBlocks>;
  else
    return nullptr;
}
template <int kBlocks>
consteval auto outer() -> void (*)(const TileSums&) {
  if constexpr (kBlocks <= kMaxBlocks)
    return outer_products<kBlocks>;
  else
    return nullptr;
}

}  // namespace

#define LACUNA_PRODUCTS(blocks)                                                                    \
  {                                                                                                \
    product<1, blocks>(), product<2, blocks>(), product<3, blocks>(), product<4, blocks>(),        \
        product<5, blocks>(), product<6, blocks>(), product<7, blocks>(), product<8, blocks>(),    \
        product<9, blocks>(), product<10, blocks>(), product<11, blocks>(), product<12, blocks>(), \
        product<13, blocks>(), product<14, blocks>()                                               \
  }
constinit const WinogradLoops LACUNA_TABLE = {LACUNA_ISA,
                                              kMaxTiles,
                                              kMaxBlocks,
                                              kOuterChannels,
                                              read_tile<InputTransform>,
                                              read_tile<GradientTransform>,
                                              write_tile,
                                              expand_taps,
                                              gather_taps,
                                              {LACUNA_PRODUCTS(1), LACUNA_PRODUCTS(2)},
                                              {outer<1>(), outer<2>()}};
#undef LACUNA_PRODUCTS

}  // namespace lacuna::kernels
