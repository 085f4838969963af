// The pixels that meet in one tap of a convolution, as runs: a pixel of the checked side and one of the
// result, both with a constant step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

struct TapRun {
  std::int64_t checked, result;  // first pixels, in their planes
  std::int64_t checked_step, result_step;
  std::int64_t count;
};

// One tap, without padding and stride: rows follow one another without a gap.
inline bool rows_follow(const LayerShape& shape) {
  return shape.taps() == 1 && shape.padding == Size2{0, 0} && shape.stride == Size2{1, 1};
}

// Calls each(TapRun) for the runs that end in `rows` of the result.
template <typename Each>
void each_tap_run(const LayerShape& shape, Operation op, std::int64_t tap, const Range& rows,
                  const Each& each) {
  if (rows_follow(shape)) {
    const std::int64_t first = rows.begin * shape.input.w;
    each(TapRun{first, first, 1, 1, (rows.end - rows.begin) * shape.input.w});
    return;
  }
  // Output position o and input position o * stride + offset belong together in this tap.
  const std::int64_t offset_h = tap / shape.kernel.w * shape.dilation.h - shape.padding.h;
  const std::int64_t offset_w = tap % shape.kernel.w * shape.dilation.w - shape.padding.w;
  const Range cols = valid_outputs(shape.output.w, shape.input.w, shape.stride.w, offset_w);
  Range valid = valid_outputs(shape.output.h, shape.input.h, shape.stride.h, offset_h);
  if (op == Operation::kForward) {
    valid = {std::max(valid.begin, rows.begin), std::min(valid.end, rows.end)};
  } else {  // rows are of the input
    const Range begin = valid_outputs(shape.output.h, rows.begin, shape.stride.h, offset_h);
    const Range end = valid_outputs(shape.output.h, rows.end, shape.stride.h, offset_h);
    valid = {std::max(valid.begin, begin.end), std::min(valid.end, end.end)};
  }
  if (cols.end <= cols.begin) return;
  for (std::int64_t oh = valid.begin; oh < valid.end; ++oh) {
    const std::int64_t input =
        (oh * shape.stride.h + offset_h) * shape.input.w + cols.begin * shape.stride.w + offset_w;
    const std::int64_t output = oh * shape.output.w + cols.begin;
    if (op == Operation::kForward)
      each(TapRun{input, output, shape.stride.w, 1, cols.end - cols.begin});
    else
      each(TapRun{output, input, 1, shape.stride.w, cols.end - cols.begin});
  }
}

}  // namespace lacuna::kernels
