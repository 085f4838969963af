#include "kernels/winograd/tile_grid.hpp"

namespace lacuna::kernels {

const WinogradLoops& winograd_loops(Isa isa) {
  return LACUNA_OF_ISA(isa, kPortableWinogradLoops, kAvx2WinogradLoops, kAvx512WinogradLoops);
}

std::int64_t tiles_at_once(std::int64_t few, std::int64_t weight_floats, std::int64_t tile_floats,
                           int threads) {
  constexpr std::int64_t kSmallWeights = 1 << 20;  // floats
  constexpr std::int64_t kMostScratch = 16 << 20;  // floats of all threads: 64 MB
  if (weight_floats <= kSmallWeights) return few;
  return std::max(few / 2, kMostScratch / threads / tile_floats);
}

void read_tiles(void (*read)(const TileRead&), const TileGrid& grid, const TileTensor& tensor,
                const float* data, const TileRange& tiles, const TileElements& elements, std::int64_t first,
                float* to) {
  for (std::int64_t block = 0; block < tensor.blocks(); ++block)
    each_tile(grid, tiles, [&](std::int64_t tile, const TilePlace& place, const TilePlace& later) {
      const TileTensor::Ahead ahead = tensor.ahead(later, block);
      read({.at = data + tensor.offset(place, block),
            .pixels = tensor.pixels(place),
            .ahead = data + ahead.offset,
            .ahead_rows = ahead.rows,
            .ahead_columns = ahead.columns,
            .to = to + block * elements.block + (tile - first) * kLanes,
            .element = elements.element});
    });
}

}  // namespace lacuna::kernels
