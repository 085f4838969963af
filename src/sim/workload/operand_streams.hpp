// The three training products as reductions over lanes and steps [TensorDash §3, Table 1].
//
// Every output of a product is a sum over `steps` x `lanes` pairs. Each of the two operands supplies a family
// of streams: one stream holds, for each step, the `lanes` values that enter a processing element together.
// An output is the product of one stream of each family. Machines differ in which streams
// sit on rows and columns and in what they skip; the streams themselves are the same for all.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "base/ceil_div.hpp"
#include "sim/workload/reference.hpp"
#include "tensor/operation.hpp"

namespace lacuna {

// A position relative to a window's origin, in the source image.
struct Tap {
  std::int64_t dy = 0;
  std::int64_t dx = 0;
};

// Axis that the lanes of a step run along.
enum class LaneAxis {
  kChannels,   // stream = (image, grid position); steps = (tap, group of channels)
  kPositions,  // stream = (tap, channel);         steps = (image, group of grid positions)
  kImages,     // stream = channel;                steps = (tap, group of images)
};

// All streams of one operand in one product. The operand is an image tensor [images, height, width, channels]
// of which one convolution group takes part (for weights: images are filters and the kernel is the plane). A
// grid position (gy, gx) seen through a tap is the source position (gy*stride.h + dy, gx*stride.w + dx);
// outside the plane it is zero.
struct OperandStreams {
  Operand role = Operand::kA;
  MaskView mask;
  std::int64_t image0 = 0, images = 1;
  Size2 plane;
  std::int64_t channel0 = 0, channels = 1;
  Size2 grid;
  Size2 stride;
  std::vector<Tap> taps;
  LaneAxis axis = LaneAxis::kChannels;
  int lanes = 16;
  bool column_major = false;  // grid positions run x outside, y inside (`tensordash-2019` only)

  std::int64_t count() const;  // streams
  std::int64_t steps() const;
  // Length of the axis that lanes run along (channels of a tap, positions of an image, or images), and its
  // steps.
  std::int64_t axis_elements() const;
  std::int64_t axis_steps() const { return ceil_div(axis_elements(), lanes); }

  // The grid's positions in the order in which they are visited.
  Size2 grid_place(std::int64_t position) const {
    return column_major ? Size2{position % grid.h, position / grid.h}
                        : Size2{position / grid.w, position % grid.w};
  }
  // The row of `mask` under a grid position, or -1 outside the plane.
  std::int64_t source_row(std::int64_t image, std::int64_t position, const Tap& tap) const;

  // The effectual bits of a stream at a step, lane 0 lowest; lanes without an element read as 0.
  std::uint64_t word(std::int64_t stream, std::int64_t step) const;

  // The values of a stream at a step into lanes_out[0..lanes); lanes without an element are 0. Gives back
  // which of them are not zero, lane 0 lowest: what a functional engine goes by, in place of word().
  std::uint64_t values(std::int64_t stream, std::int64_t step, const TensorValues& source,
                       float* lanes_out) const;

  // Addresses of a step's lanes: the mask row of each, kBorder outside the plane, kNoElement past the axis'
  // end; and the channel of lane 0 (over channels: of the following lanes, the following ones).
  static constexpr std::int64_t kBorder = -1;
  static constexpr std::int64_t kNoElement = -2;
  struct LaneRows {
    std::int64_t row[64];
    std::int64_t channel;
    bool same_row;      // over channels: row[0] holds for all lanes that have an element
    std::int64_t real;  // lanes that have an element
  };
  void locate(std::int64_t stream, std::int64_t step, LaneRows& at) const;
};

// Layout of a product's two operands on streams; `primary` and `secondary` as in operands(op).
struct LaneProduct {
  OperandStreams primary;
  OperandStreams secondary;

  const OperandStreams& of(Operand role) const { return primary.role == role ? primary : secondary; }
  std::int64_t steps() const { return primary.steps(); }
  // Pairs that an output of an input gradient sums, the border's among them.
  std::int64_t reduction() const { return std::ssize(primary.taps) * primary.channels; }

  // Returns the place of output (stream of `primary`, stream of `secondary`) in the operation's result tensor
  // (channels last).
  std::int64_t output_index(const LayerShape& shape, Operation op, std::int64_t primary_stream,
                            std::int64_t secondary_stream) const;

  std::int64_t group = 0;
  Size2 phase{0, 0};  // input gradient: (y mod stride, x mod stride) of its positions
};

// The order in which positions and taps are visited. The paper does not say; ours is row-major, the authors'
// early simulator's is `column_major` with the taps of W*G descending, one sample at a time.
enum class VisitOrder { kRowMajor, kColumnMajor };

// The products of an operation: one per convolution group (of a matmul: one per product) and, for the input
// gradient of a strided layer, one per phase (the kernel is split into stride x stride sub-kernels, so that
// no machine is charged for dilation zeros). Forward and input gradient of a recurrent layer have one per
// time step. They run one after another, each on the whole machine.
std::vector<LaneProduct> lane_products(const Layer& layer, Operation op, int lanes,
                                       VisitOrder order = VisitOrder::kRowMajor);

}  // namespace lacuna
