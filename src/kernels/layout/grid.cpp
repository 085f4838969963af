#include "kernels/layout/grid.hpp"

#include <algorithm>

namespace lacuna::kernels {
namespace {

// Rounded down, of any sign.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

std::int64_t plane_size(std::int64_t all, std::int64_t first, std::int64_t step) {
  return std::max<std::int64_t>(0, (all - first + step - 1) / step);
}

GridPlane plane_of(Size2 size, Size2 first, Size2 step) {
  return {first.h, first.w, plane_size(size.h, first.h, step.h), plane_size(size.w, first.w, step.w)};
}

// The distances of rows and of columns such that no tap of an output reads a row, column or image that it
// should not.
void place(Grid& grid, bool even) {
  std::int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  for (const GridPlane& plane : grid.inputs) {
    in_rows = std::max(in_rows, plane.rows);
    in_columns = std::max(in_columns, plane.columns);
  }
  for (const GridOutput& output : grid.outputs) {
    out_rows = std::max(out_rows, output.plane.rows);
    out_columns = std::max(out_columns, output.plane.columns);
    for (const GridTap& tap : output.taps) {
      grid.first_row = std::min(grid.first_row, tap.row);
      grid.last_row = std::max(grid.last_row, tap.row);
      grid.first_column = std::min(grid.first_column, tap.column);
      grid.last_column = std::max(grid.last_column, tap.column);
    }
  }
  grid.rows = std::max(in_rows - grid.first_row, out_rows + grid.last_row);
  grid.pitch = std::max(in_columns - grid.first_column, out_columns + grid.last_column);
  if (!even) return;
  if (grid.first_column != grid.last_column) grid.pitch = std::max(grid.pitch, in_columns + 1);
  grid.pitch += grid.pitch % 2;
}

}  // namespace

// Output (y, x) reads input y * stride + kernel row * dilation - padding.
Grid forward_grid(const LayerShape& s, bool even) {
  Grid grid;
  grid.images = s.n;
  grid.input_step = s.stride;
  GridOutput output{{0, 0, s.output.h, s.output.w}, {}};
  for (std::int64_t r = 0; r < s.kernel.h; ++r)
    for (std::int64_t c = 0; c < s.kernel.w; ++c) {
      const std::int64_t y = r * s.dilation.h - s.padding.h;
      const std::int64_t x = c * s.dilation.w - s.padding.w;
      GridTap tap{0, floor_div(y, s.stride.h), floor_div(x, s.stride.w), r * s.kernel.w + c};
      const Size2 phase{y - tap.row * s.stride.h, x - tap.column * s.stride.w};
      const auto same = std::find_if(grid.inputs.begin(), grid.inputs.end(), [&](const GridPlane& plane) {
        return plane.row0 == phase.h && plane.column0 == phase.w;
      });
      tap.plane = same - grid.inputs.begin();
      if (same == grid.inputs.end()) grid.inputs.push_back(plane_of(s.input, phase, s.stride));
      output.taps.push_back(tap);
    }
  grid.outputs.push_back(std::move(output));
  place(grid, even);
  return grid;
}

// Input y gets gradients from outputs (y + padding - kernel row * dilation) / stride that are whole numbers.
Grid input_grad_grid(const LayerShape& s) {
  Grid grid;
  grid.images = s.n;
  grid.output_step = s.stride;
  grid.inputs.push_back({0, 0, s.output.h, s.output.w});
  for (std::int64_t h = 0; h < s.stride.h; ++h)
    for (std::int64_t w = 0; w < s.stride.w; ++w) {
      GridOutput output{plane_of(s.input, {h, w}, s.stride), {}};
      for (std::int64_t r = 0; r < s.kernel.h; ++r)
        for (std::int64_t c = 0; c < s.kernel.w; ++c) {
          const std::int64_t y = h + s.padding.h - r * s.dilation.h;
          const std::int64_t x = w + s.padding.w - c * s.dilation.w;
          const GridTap tap{0, floor_div(y, s.stride.h), floor_div(x, s.stride.w), r * s.kernel.w + c};
          if (tap.row * s.stride.h == y && tap.column * s.stride.w == x) output.taps.push_back(tap);
        }
      grid.outputs.push_back(std::move(output));
    }
  place(grid, false);
  return grid;
}

}  // namespace lacuna::kernels
