// Mapping of a convolution that skips zero weights onto vectors: the 16 lanes of a vector are 16 separate
// tiles of the result, each tile a few pixels of one image, so that one weight multiplies whole vectors and
// any single weight can be left out.
//
// A phase is a grid of result pixels that meet the same taps: one for forward, stride x stride for
// input_grad. The inputs of a tile lie in planes, one for each remainder of the tap's offset by the stride,
// so that neighbouring result pixels always read neighbouring slots.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/layout/blocked.hpp"
#include "kernels/layout/grid.hpp"

namespace lacuna::kernels {

inline constexpr int kMaxTileRows = 10;  // of a flat tile; 7 of others
inline constexpr int kMaxTileCols = 4;
inline constexpr int kMaxTilePixels = 16;

struct PrunedTap {
  std::int64_t tap;   // r * kernel.w + s
  std::int64_t slot;  // of the first pixel of the tile
};

// Slots [base, base + rows * pitch) hold the inputs at step * (pixel + lowest + row) + origin.
struct PrunedPlane {
  Size2 origin, lowest, reach;  // reach: highest - lowest offset of its taps
  std::int64_t base = 0;
};

struct PrunedPhase {
  Size2 start, grid;  // first result pixel, pixels of the phase
  std::vector<PrunedTap> taps;
  std::vector<PrunedPlane> planes;
};

// Sixteen tiles of one size, in one phase. In a flat geometry (one tap) the lanes are neighbouring pixels,
// and a tile is every sixteenth.
struct TileGroup {
  std::int64_t phase;
  std::int64_t rows, cols;        // of a tile; flat: pixels, 1
  std::int64_t first;             // tile
  std::int64_t row0, col0;        // where in the image the size applies: first row and column of tiles
  std::int64_t tiles_y, tiles_x;  // tiles of this size per image
};

class PrunedGeometry {
 public:
  // `input` and `result` are the tensors of forward or input_grad (src and dst, or the other way round),
  // blocked or channels-last.
  PrunedGeometry(const LayerShape& shape, Operation op, const BlockedShape& input,
                 const BlockedShape& result);

  bool supported() const { return supported_; }
  bool flat() const { return flat_; }
  std::int64_t pitch() const { return pitch_; }
  std::int64_t slots() const { return slots_; }              // per input channel, odd
  std::int64_t most_pixels() const { return most_pixels_; }  // of a tile
  std::int64_t used_slots() const { return used_slots_; }    // of them, those that are read
  const std::vector<PrunedPhase>& phases() const { return phases_; }
  const std::vector<TileGroup>& groups() const { return groups_; }

  // Offsets of the values of a group's tiles in the tensors: floats from their beginning, -1 outside the
  // image or past the last tile. `inputs` has 16 for each slot of `used_slots`, `results` 16 for each pixel
  // of the tile.
  void input_offsets(const TileGroup& group, std::vector<std::int32_t>& used_slots,
                     std::vector<std::int64_t>& offsets) const;
  void result_offsets(const TileGroup& group, std::vector<std::int64_t>& offsets) const;

 private:
  struct Pixel {
    std::int64_t n, y, x;  // in the grid of the phase
  };
  void add_phase(const Grid& grid, const GridOutput& output);
  void choose_tiles(Operation op);
  std::int64_t flat_rows(Operation op) const;
  void add_groups(std::int64_t phase, std::int64_t rows, std::int64_t cols, std::int64_t row0,
                  std::int64_t col0, std::int64_t tiles_y, std::int64_t tiles_x);
  // Pixels of a tensor that tiles touch: pixel p of the grid is at p * step + start.
  struct Touched {
    const BlockedShape& tensor;
    Size2 step, start;
  };
  Pixel first_pixel(const TileGroup& group, std::int64_t lane) const;
  // Offsets of `size` pixels that begin with the tiles' own, [pixel][lane].
  void put_offsets(const TileGroup& group, const Touched& at, Size2 size, std::int64_t* to) const;
  void put_flat_offsets(const TileGroup& group, const Touched& at, std::int64_t* to) const;

  BlockedShape input_, result_;
  Size2 input_step_{1, 1}, result_step_{1, 1};
  bool supported_ = true;
  bool flat_ = false;
  std::int64_t pitch_ = 1;
  std::int64_t slots_ = 1;
  std::int64_t used_slots_ = 1;
  std::int64_t most_pixels_ = 1;
  std::int64_t tile_rows_ = 1, tile_cols_ = 1;
  std::vector<PrunedPhase> phases_;
  std::vector<TileGroup> groups_;
};

}  // namespace lacuna::kernels
