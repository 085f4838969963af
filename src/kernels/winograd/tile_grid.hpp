// The tiles of a result: 4x4 pixels each, row after row and image after image.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/layout/blocked.hpp"
#include "kernels/winograd/tile_loops.hpp"

namespace lacuna::kernels {

struct TilePlace {
  std::int64_t image, row, column;  // of its first pixel in the result
};

struct TileRange {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

class TileGrid {
 public:
  explicit TileGrid(const BlockedShape& result)
      : rows_(tiles(result.h)), columns_(tiles(result.w)), count_(result.n * rows_ * columns_) {}
  std::int64_t count() const { return count_; }
  TileRange all() const { return {0, count_}; }
  TilePlace at(std::int64_t tile) const {
    const std::int64_t row = tile / columns_;
    return {row / rows_, row % rows_ * kTileSize, tile % columns_ * kTileSize};
  }
  // Moves to the next tile.
  void advance(TilePlace& place) const {
    place.column += kTileSize;
    if (place.column < columns_ * kTileSize) return;
    place.column = 0, place.row += kTileSize;
    if (place.row < rows_ * kTileSize) return;
    place.row = 0, ++place.image;
  }

 private:
  static std::int64_t tiles(std::int64_t size) { return (size + kTileSize - 1) / kTileSize; }
  std::int64_t rows_, columns_, count_;
};

// One block of channels of a tensor of which tiles have `size` x `size` pixels, from `before` pixels before
// those of the result on.
class TileTensor {
 public:
  TileTensor(const BlockedShape& shape, Size2 before, int size)
      : shape_(shape), before_(before), size_(size) {}

  std::int64_t blocks() const { return shape_.blocks(); }
  // Floats from the tensor's first to pixel (0, 0) of a tile.
  std::ptrdiff_t offset(const TilePlace& place, std::int64_t block) const {
    return place.image * shape_.image_floats() + block * shape_.block_floats() +
           ((place.row - before_.h) * shape_.w + place.column - before_.w) * shape_.pixel_floats();
  }
  TilePixels pixels(const TilePlace& place) const {
    const std::int64_t row = place.row - before_.h, column = place.column - before_.w;
    return {shape_.w * shape_.pixel_floats(), shape_.pixel_floats(), inside(-row),
            inside(shape_.h - row),           inside(-column),       inside(shape_.w - column)};
  }
  // Pixels to prefetch: those at the place of the result's.
  struct Ahead {
    std::ptrdiff_t offset;
    int rows, columns;
  };
  Ahead ahead(const TilePlace& place, std::int64_t block) const {
    if (place.image >= shape_.n) return {0, 0, 0};
    const auto left = [](std::int64_t pixels) {
      return static_cast<int>(std::clamp<std::int64_t>(pixels, 0, kTileSize));
    };
    return {place.image * shape_.image_floats() + block * shape_.block_floats() +
                (place.row * shape_.w + place.column) * shape_.pixel_floats(),
            left(shape_.h - place.row), left(shape_.w - place.column)};
  }

 private:
  int inside(std::int64_t pixel) const { return static_cast<int>(std::clamp<std::int64_t>(pixel, 0, size_)); }
  BlockedShape shape_;
  Size2 before_;
  int size_;
};

// Where the elements of some tiles are: [element][block][tile][16]. An odd number of cache lines from an
// element to the next, so that those of a tile are in different sets.
struct TileElements {
  TileElements() = default;
  TileElements(std::int64_t blocks, std::int64_t tiles)
      : block(tiles * kLanes), element(((blocks * tiles) | 1) * kLanes) {}
  std::int64_t floats() const { return kElements * element; }
  std::int64_t block = 0, element = 0;  // floats from one to the next
};

// Range `index` of `count` even ones.
inline TileRange even_range(const TileRange& all, std::int64_t index, std::int64_t count) {
  return {all.begin + index * all.count() / count, all.begin + (index + 1) * all.count() / count};
}

// Tiles whose pixels are prefetched ahead of those that are read or written: without, a third of the time of
// 64 channels of 56x56 pixels was lost (7.4 ms against 6.1; two and eight are as good within 5 %).
inline constexpr int kTilesAhead = 4;

// Calls use(tile, place, place of the tile to prefetch) for a range of tiles.
template <typename Use>
void each_tile(const TileGrid& grid, const TileRange& tiles, const Use& use) {
  TilePlace place = grid.at(tiles.begin), ahead = grid.at(tiles.begin + kTilesAhead);
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    use(tile, place, ahead);
    grid.advance(place);
    grid.advance(ahead);
  }
}

// Transforms all blocks of some tiles. `to` has the tiles from `first` on.
void read_tiles(void (*read)(const TileRead&), const TileGrid& grid, const TileTensor& tensor,
                const float* data, const TileRange& tiles, const TileElements& elements, std::int64_t first,
                float* to);

// Tiles that each thread transforms before it multiplies them. `few` of them stay in L2, which is best where
// the weights are in L2 or come from L3 (measured up to 2.3 MB). Larger weights want as many tiles as
// possible: 256 channels of 14x14 pixels ran at 185 GFLOP/s with 28 tiles and at 238 with all 256.
std::int64_t tiles_at_once(std::int64_t few, std::int64_t weight_floats, std::int64_t tile_floats,
                           int threads);

const WinogradLoops& winograd_loops(Isa isa);

}  // namespace lacuna::kernels
