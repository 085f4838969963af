#include "kernels/pruned/geometry.hpp"

#include <algorithm>

namespace lacuna::kernels {
namespace {

std::int64_t parts_of(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

// `size` split into parts as even as possible: first `larger` of `part` + 1, then the rest of `part`.
struct EvenSplit {
  EvenSplit(std::int64_t size, std::int64_t most) {
    const std::int64_t parts = parts_of(size, most);
    part = size / parts;
    larger = size % parts;
    smaller = parts - larger;
  }
  std::int64_t part, larger, smaller;
};

}  // namespace

PrunedGeometry::PrunedGeometry(const LayerShape& shape, Operation op, const BlockedShape& input,
                               const BlockedShape& result)
    : input_(input), result_(result) {
  const bool forward = op != Operation::kInputGrad;  // weight_grad: inputs and gradients as in forward
  (forward ? input_step_ : result_step_) = shape.stride;
  if (input_.channels % kLanes != 0 && shape.groups > 1) supported_ = false;
  if (result_.channels % kLanes != 0 && shape.groups > 1) supported_ = false;
  const Grid grid = forward ? forward_grid(shape) : input_grad_grid(shape);
  for (const GridOutput& output : grid.outputs) add_phase(grid, output);
  flat_ =
      std::all_of(phases_.begin(), phases_.end(), [](const PrunedPhase& p) { return p.taps.size() <= 1; });
  choose_tiles(op);
}

// Slots are numbered when the tiles are chosen; until then, positions relative to the plane.
void PrunedGeometry::add_phase(const Grid& grid, const GridOutput& output) {
  PrunedPhase phase{
      {output.plane.row0, output.plane.column0}, {output.plane.rows, output.plane.columns}, {}, {}};
  for (std::size_t i = 0; i < grid.inputs.size(); ++i) {
    Size2 low{INT32_MAX, INT32_MAX}, high{INT32_MIN, INT32_MIN};
    for (const GridTap& tap : output.taps) {
      if (tap.plane != static_cast<std::int64_t>(i)) continue;
      low = {std::min(low.h, tap.row), std::min(low.w, tap.column)};
      high = {std::max(high.h, tap.row), std::max(high.w, tap.column)};
    }
    if (high.h < low.h) continue;  // no tap of this phase reads it
    phase.planes.push_back(
        {{grid.inputs[i].row0, grid.inputs[i].column0}, low, {high.h - low.h, high.w - low.w}});
  }
  for (const GridTap& tap : output.taps) {
    const PrunedPlane& plane = phase.planes[static_cast<std::size_t>(tap.plane)];
    phase.taps.push_back(
        {tap.index, (tap.plane << 40) | ((tap.row - plane.lowest.h) << 20) | (tap.column - plane.lowest.w)});
  }
  phases_.push_back(std::move(phase));
}

// Pixels of a flat tile. Sums are read and written once per part of the inputs, so a row should have many
// weights, whose inputs are in L1: few pixels of many channels. Below five, the loop's own instructions show.
// Geometric mean over the 1x1 layers of ResNet-50 at 90 % zeros with tiles of 4, 5, 6 and 7: 2.69, 2.73, 2.70
// and 2.56x oneDNN direct (one run; the same kernel differs by 3 % between runs). The gradient of a kept
// weight has a reduction per tile instead: with 5, 8, 10 and 14, 2.24, 2.33, 2.36 and 2.33x.
std::int64_t PrunedGeometry::flat_rows(Operation op) const {
  const bool reduces = op == Operation::kWeightGrad;
  const double ends = reduces ? 3 : 0.8;  // of a row, in pixels
  const double most = reduces ? 10 : 5;   // pixels without a penalty
  std::int64_t pixels = 0;
  for (const PrunedPhase& phase : phases_) pixels = std::max(pixels, result_.n * phase.grid.h * phase.grid.w);
  double best = 1e30;
  std::int64_t rows = 4;
  for (std::int64_t a = 4; a <= kMaxTileRows; ++a) {
    const auto size = static_cast<double>(a);
    const double cost = static_cast<double>(parts_of(pixels, a * kLanes)) * (size + ends) *
                        (1 + 0.04 * std::max(0.0, size - most));
    if (cost < best) best = cost, rows = a;
  }
  return rows;
}

// Small tiles: a multiply-add reads its input from L1, and the fewer slots a channel has, the more channels
// fit. Measured on 3x3 256->256 at 90 % zeros (tiles of 28, 20, 16, 14 and 12 pixels): 626, 659, 679, 685 and
// 677 GMAC/s of the dense convolution.
void PrunedGeometry::choose_tiles(Operation op) {
  std::int64_t reach_w = 0;
  for (const PrunedPhase& phase : phases_)
    for (const PrunedPlane& plane : phase.planes) reach_w = std::max(reach_w, plane.reach.w);
  if (flat_) {
    tile_cols_ = 1;
    tile_rows_ = flat_rows(op);
  } else {
    pitch_ = reach_w + kMaxTileCols <= 6 ? 6 : 8;
    const std::int64_t widest = std::min<std::int64_t>(kMaxTileCols, pitch_ - reach_w);
    if (widest < 1) {
      supported_ = false;
      return;
    }
    double best = 1e30;
    for (std::int64_t rows = 1; rows <= 7; ++rows)
      for (std::int64_t cols = 1; cols <= widest; ++cols) {
        if (rows * cols > kMaxTilePixels) continue;
        double cost = 0;
        for (const PrunedPhase& phase : phases_) {
          if (phase.grid.h == 0 || phase.grid.w == 0) continue;
          const EvenSplit y(phase.grid.h, rows), x(phase.grid.w, cols);
          for (const auto& [h, count_h] : {std::pair{y.part + 1, y.larger}, std::pair{y.part, y.smaller}})
            for (const auto& [w, count_w] : {std::pair{x.part + 1, x.larger}, std::pair{x.part, x.smaller}})
              cost += static_cast<double>(parts_of(result_.n * count_h * count_w, kLanes) * (h * w + 3));
        }
        if (cost < best) best = cost, tile_rows_ = rows, tile_cols_ = cols;
      }
  }
  // The slots of a plane, for the largest tile.
  for (PrunedPhase& phase : phases_) {
    std::int64_t next = 0;
    std::int64_t used = 0;
    for (PrunedPlane& plane : phase.planes) {
      plane.base = next;
      used += (tile_rows_ + plane.reach.h) * (tile_cols_ + plane.reach.w);
      next += flat_ ? tile_rows_ : (tile_rows_ + plane.reach.h) * pitch_;
    }
    used_slots_ = std::max(used_slots_, used);
    slots_ = std::max(slots_, next | 1);  // odd, so that channels do not share sets of the cache
    for (PrunedTap& tap : phase.taps) {
      const auto plane = static_cast<std::size_t>(tap.slot >> 40);
      tap.slot = phase.planes[plane].base + (tap.slot >> 20 & 0xfffff) * pitch_ + (tap.slot & 0xfffff);
    }
  }
  most_pixels_ = tile_rows_ * tile_cols_;
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    const Size2 grid = phases_[p].grid;
    const auto phase = static_cast<std::int64_t>(p);
    if (grid.h == 0 || grid.w == 0) continue;
    if (flat_) {
      add_groups(phase, tile_rows_, 1, 0, 0, parts_of(result_.n * grid.h * grid.w, tile_rows_), 0);
      continue;
    }
    const EvenSplit y(grid.h, tile_rows_), x(grid.w, tile_cols_);
    for (const bool tall : {true, false})
      for (const bool wide : {true, false})
        add_groups(phase, y.part + (tall ? 1 : 0), x.part + (wide ? 1 : 0),
                   tall ? 0 : y.larger * (y.part + 1), wide ? 0 : x.larger * (x.part + 1),
                   tall ? y.larger : y.smaller, wide ? x.larger : x.smaller);
  }
}

void PrunedGeometry::add_groups(std::int64_t phase, std::int64_t rows, std::int64_t cols, std::int64_t row0,
                                std::int64_t col0, std::int64_t tiles_y, std::int64_t tiles_x) {
  const std::int64_t tiles = flat_ ? tiles_y : result_.n * tiles_y * tiles_x;
  for (std::int64_t first = 0; first < tiles; first += kLanes)
    groups_.push_back({phase, rows, cols, first, row0, col0, tiles_y, tiles_x});
}

PrunedGeometry::Pixel PrunedGeometry::first_pixel(const TileGroup& group, std::int64_t lane) const {
  const std::int64_t tile = group.first + lane;
  if (flat_) {
    const Size2 grid = phases_[static_cast<std::size_t>(group.phase)].grid;
    const std::int64_t index = group.first * group.rows + lane;
    return {index / (grid.h * grid.w), index % (grid.h * grid.w) / grid.w, index % grid.w};
  }
  const std::int64_t image = group.tiles_y * group.tiles_x;
  return {tile / image, group.row0 + tile % image / group.tiles_x * group.rows,
          group.col0 + tile % group.tiles_x * group.cols};
}

void PrunedGeometry::put_offsets(const TileGroup& group, const Touched& at, Size2 size,
                                 std::int64_t* to) const {
  const BlockedShape& tensor = at.tensor;
  const std::int64_t pixel = tensor.pixel_floats();
  const std::int64_t step = at.step.w * pixel;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const Pixel first = first_pixel(group, lane);
    const std::int64_t x0 = first.x * at.step.w + at.start.w;
    // Columns [low, high) are inside the image.
    const std::int64_t low = x0 >= 0 ? 0 : std::min(size.w, parts_of(-x0, at.step.w));
    const std::int64_t high = std::clamp<std::int64_t>(parts_of(tensor.w - x0, at.step.w), low, size.w);
    std::int64_t* out = to + lane;
    for (std::int64_t row = 0; row < size.h; ++row) {
      const std::int64_t y = (first.y + row) * at.step.h + at.start.h;
      const bool inside = first.n < tensor.n && y >= 0 && y < tensor.h;
      const std::int64_t begin = inside ? low : size.w;
      const std::int64_t end = inside ? high : size.w;
      std::int64_t offset = first.n * tensor.image_floats() + (y * tensor.w + x0) * pixel + begin * step;
      std::int64_t col = 0;
      for (; col < begin; ++col, out += kLanes) *out = -1;
      for (; col < end; ++col, out += kLanes, offset += step) *out = offset;
      for (; col < size.w; ++col, out += kLanes) *out = -1;
    }
  }
}

// The pixels of a flat group follow one another.
void PrunedGeometry::put_flat_offsets(const TileGroup& group, const Touched& at, std::int64_t* to) const {
  const BlockedShape& tensor = at.tensor;
  const std::int64_t pixel = tensor.pixel_floats();
  const Size2 grid = phases_[static_cast<std::size_t>(group.phase)].grid;
  Pixel p = first_pixel(group, 0);
  const std::int64_t count = group.rows * kLanes;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t end = std::min(count, i + grid.w - p.x);
    const std::int64_t y = p.y * at.step.h + at.start.h;
    const bool inside = p.n < tensor.n && y >= 0 && y < tensor.h;
    const std::int64_t row = p.n * tensor.image_floats() + y * tensor.w * pixel;
    for (std::int64_t x = p.x * at.step.w + at.start.w; i < end; ++i, x += at.step.w)
      to[i] = inside && x >= 0 && x < tensor.w ? row + x * pixel : -1;
    p.x = 0;
    if (++p.y == grid.h) p.y = 0, ++p.n;
  }
}

void PrunedGeometry::input_offsets(const TileGroup& group, std::vector<std::int32_t>& used_slots,
                                   std::vector<std::int64_t>& offsets) const {
  const PrunedPhase& phase = phases_[static_cast<std::size_t>(group.phase)];
  used_slots.clear();
  for (const PrunedPlane& plane : phase.planes)
    for (std::int64_t row = 0; row < group.rows + plane.reach.h; ++row)
      for (std::int64_t col = 0; col < group.cols + plane.reach.w; ++col)
        used_slots.push_back(static_cast<std::int32_t>(plane.base + row * pitch_ + col));
  offsets.resize(used_slots.size() * kLanes);
  std::int64_t* to = offsets.data();
  for (const PrunedPlane& plane : phase.planes) {
    const Size2 size{group.rows + plane.reach.h, group.cols + plane.reach.w};
    const Touched at{
        input_,
        input_step_,
        {plane.lowest.h * input_step_.h + plane.origin.h, plane.lowest.w * input_step_.w + plane.origin.w}};
    if (flat_)
      put_flat_offsets(group, at, to);
    else
      put_offsets(group, at, size, to);
    to += size.h * size.w * kLanes;
  }
}

void PrunedGeometry::result_offsets(const TileGroup& group, std::vector<std::int64_t>& offsets) const {
  const PrunedPhase& phase = phases_[static_cast<std::size_t>(group.phase)];
  offsets.resize(static_cast<std::size_t>(group.rows * group.cols * kLanes));
  const Touched at{result_, result_step_, phase.start};
  if (flat_)
    put_flat_offsets(group, at, offsets.data());
  else
    put_offsets(group, at, {group.rows, group.cols}, offsets.data());
}

}  // namespace lacuna::kernels
