// A convolution as sums over taps of shifted planes, for any stride, padding and dilation. A tensor that is
// read or written with a stride is a plane for each remainder (phase) of its coordinates; then each tap reads
// one input plane at a fixed distance from the output.
//
// All images lie in one grid, row after row and image after image: element (image, row, column) of a plane is
// at (image * rows + row) * pitch + column. Rows and images are so far apart that a tap that leaves the plane
// reads zeros: the padding on the right of a row is that on the left of the next.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna::kernels {

struct GridPlane {
  std::int64_t row0 = 0, column0 = 0;  // of its first element in the tensor
  std::int64_t rows = 0, columns = 0;
};

struct GridTap {
  std::int64_t plane = 0;            // of the input
  std::int64_t row = 0, column = 0;  // distance of what is read from what is written
  std::int64_t index = 0;            // in the kernel
};

struct GridOutput {
  GridPlane plane;
  std::vector<GridTap> taps;
};

struct Grid {
  std::int64_t images = 1, rows = 0, pitch = 0;
  Size2 input_step{1, 1}, output_step{1, 1};  // from an element of a plane to the next, in the tensor
  std::vector<GridPlane> inputs;
  std::vector<GridOutput> outputs;
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;  // distances of all taps

  std::int64_t all_rows() const { return images * rows; }
};

// `even`: the pitch is even, and where taps differ in columns at least one column between rows is zero, so
// that pairs of pixels, from an even or from an odd one on, are of one row.
Grid forward_grid(const LayerShape& shape, bool even = false);
Grid input_grad_grid(const LayerShape& shape);

}  // namespace lacuna::kernels
