// Base of the kernels that compute each tap as a sum over channels from one pixel to another: parts of the
// outputs, whose sums stay in registers, and the order of weights that goes with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

// Pixels that meet in one tap: one of the checked side and one of the result, both with a constant step.
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

class TapSums : public SparseConv {
 protected:
  // Result pixels of one unit of work: their sums (8 vectors, 400 KB) stay in L2 over all channels and taps.
  static constexpr std::int64_t kUnitPixels = 784;
  // Fewer for channels-last pixels of many channels, which lie so far apart that they share sets of L2.
  std::int64_t unit_pixels() const;

  TapSums(const KernelConfig& config, const char* kind);

  // A block of weights (channels x output vectors of one tap) has to stay in L1 along with the streams, which
  // get a quarter of it. On 32 KB, with 8 output vectors: 48 channels, 24 KB.
  std::int64_t channel_blocks_in_l1(std::int64_t l1_bytes) const;
  // All pixels of these rows of the plane at `out`, whose first block is the part's first.
  void fill(float* out, const float* bias, const Part& part, const Range& rows) const;
  void relu(float* out, const Part& part, const Range& rows) const;
  // First weight of a tap and a part of the outputs, from this block of channels on.
  std::int64_t weights_at(std::int64_t g, const Part& out, std::int64_t tap, std::int64_t block) const {
    return weights_.offset({g, out, block * kLanes, 0}) + tap * weights_.tap_floats(out);
  }

  std::vector<Part> out_parts_;
  bool one_pixel_;  // on both sides: a run of pixels is a run of images
  bool one_tap_;    // and no padding
  bool
      starts_sums_;  // every result pixel gets the one tap, so the first block of channels can start the sums
};

}  // namespace lacuna::kernels
