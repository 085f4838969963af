#include "kernels/bfloat16/plane_conv.hpp"

#include <algorithm>
#include <cstring>

namespace lacuna::kernels {
namespace {

// Elements of planes and pairs at a time. More means fewer passes over the sums (9 MB for 512 x 512 channels
// of 3x3), fewer that the planes of 32 channels stay in L2 for all others.
constexpr std::int64_t kElementsAtOnce = 4 << 20;
// Steps over which a tap's sums stay in tiles: what they read (16 KB of planes and of pairs) stays in L1 for
// the other taps.
constexpr std::int64_t kStepsAtOnce = 8;

}  // namespace

PlaneConv::PlaneConv(const LayerShape& s, const PixelView& src, const PixelView& dst,
                     const TileKernels& kernels, int threads)
    : kernels_(kernels),
      threads_(threads),
      grid_(forward_grid(s, true)),
      src_(src),
      dst_(dst),
      taps_(s.taps()),
      input_pairs_((src.blocks() + 1) / 2),
      output_pairs_((dst.blocks() + 1) / 2) {
  const auto planes = static_cast<std::int64_t>(grid_.inputs.size());
  const std::int64_t row = grid_.pitch * 32 * (input_pairs_ * planes + output_pairs_);
  unit_rows_ = std::clamp<std::int64_t>(kElementsAtOnce / row, 1, grid_.all_rows());
  steps_ = (unit_rows_ * grid_.pitch + kTileDepth - 1) / kTileDepth;
  const std::int64_t halo = (grid_.last_row - grid_.first_row) * grid_.pitch;
  const std::int64_t wanted =
      -grid_.first_column + steps_ * kTileDepth + halo + grid_.pitch + grid_.last_column;
  // An odd number of cache lines, so that 32 channels are not all in the same set of L1.
  plane_ = ((wanted + 31) / 32 | 1) * 32;
  planes_ = AlignedFloats(planes * input_pairs_ * 32 * plane_ / 2);
  pairs_ = AlignedFloats(output_pairs_ * 2 * steps_ * kTileElements / 2);
  sums_ = AlignedFloats(input_pairs_ * output_pairs_ * taps_ * 1024);
  std::fill_n(planes_.data(), planes_.size(), 0.0F);
  std::fill_n(pairs_.data(), pairs_.size(), 0.0F);
}

// Gradients between rows and images are zero, so what the planes have there, zeros of the padding or pixels
// of a neighbour, adds nothing.
void PlaneConv::convert_src(const float* src, std::int64_t row, std::int64_t block) {
  const std::int64_t rows = unit_rows_ + grid_.last_row - grid_.first_row;
  for (std::size_t p = 0; p < grid_.inputs.size(); ++p) {
    const GridPlane& plane = grid_.inputs[p];
    Bfloat16* channel = planes() + (static_cast<std::int64_t>(p) * input_pairs_ * 32 + block * 16) * plane_;
    for (std::int64_t r = 0; r < rows; ++r) {
      Bfloat16* to = channel + r * grid_.pitch - grid_.first_column;
      const std::int64_t at = row + grid_.first_row + r;
      const std::int64_t y = at < 0 ? plane.rows : at % grid_.rows;
      if (at >= grid_.all_rows() || y >= plane.rows) {
        for (int c = 0; c < 16; ++c)
          std::memset(to + c * plane_, 0, static_cast<std::size_t>(plane.columns) * sizeof(Bfloat16));
        continue;
      }
      const float* pixels = src + at / grid_.rows * src_.image_step + block * src_.block_step +
                            (y * grid_.input_step.h + plane.row0) * src_.row_step +
                            plane.column0 * src_.pixel_step;
      kernels_.to_planes(pixels, grid_.input_step.w * src_.pixel_step, plane.columns, to, plane_);
    }
  }
}

void PlaneConv::convert_dst(const float* diff_dst, std::int64_t row, std::int64_t block) {
  const GridPlane& plane = grid_.outputs.front().plane;
  for (std::int64_t r = 0; r < unit_rows_; ++r) {
    Bfloat16* to = pairs() + block * steps_ * kTileElements + r * grid_.pitch * 16;
    const std::int64_t at = row + r;
    const std::int64_t y = at % grid_.rows;
    if (at >= grid_.all_rows() || y >= plane.rows) {
      std::memset(to, 0, static_cast<std::size_t>((plane.columns + 1) / 2 * 32) * sizeof(Bfloat16));
      continue;
    }
    kernels_.to_pairs(
        diff_dst + at / grid_.rows * dst_.image_step + block * dst_.block_step + y * dst_.row_step,
        dst_.pixel_step, plane.columns, to);
  }
}

void PlaneConv::multiply(std::int64_t input_pair, std::int64_t output_pair, bool add) {
  float* all = sums(input_pair, output_pair);
  for (std::int64_t step = 0; step < steps_; step += kStepsAtOnce)
    for (const GridTap& tap : grid_.outputs.front().taps) {
      const Bfloat16* channel = planes() + (tap.plane * input_pairs_ + input_pair) * 32 * plane_;
      const Bfloat16* right = pairs() + (2 * output_pair * steps_ + step) * kTileElements;
      kernels_.accumulate({.planes = channel + (tap.row - grid_.first_row) * grid_.pitch + tap.column -
                                     grid_.first_column + step * kTileDepth,
                           .plane = plane_,
                           .pairs = {right, right + steps_ * kTileElements},
                           .steps = std::min(kStepsAtOnce, steps_ - step),
                           .add = add || step > 0,
                           .sums = all + tap.index * 1024});
    }
}

void PlaneConv::run(const float* src, const float* diff_dst, float* oihw) {
  const std::int64_t inputs = src_.channels, outputs = dst_.channels;
#pragma omp parallel num_threads(threads_)
  {
    kernels_.begin();
    for (std::int64_t row = 0; row < grid_.all_rows(); row += unit_rows_) {
#pragma omp for schedule(dynamic)
      for (std::int64_t block = 0; block < src_.blocks() + dst_.blocks(); ++block)
        block < src_.blocks() ? convert_src(src, row, block)
                              : convert_dst(diff_dst, row, block - src_.blocks());
#pragma omp for collapse(2) schedule(dynamic)
      for (std::int64_t i = 0; i < input_pairs_; ++i)
        for (std::int64_t o = 0; o < output_pairs_; ++o) multiply(i, o, row > 0);
    }
    kernels_.end();
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t o = 0; o < dst_.blocks(); ++o)
      for (std::int64_t i = 0; i < src_.blocks(); ++i)
        kernels_.unpack({.sums = sums(i / 2, o / 2) + (i % 2 * 2 + o % 2) * 256,
                         .tap = 1024,
                         .outputs = std::min<std::int64_t>(16, outputs - o * 16),
                         .inputs = std::min<std::int64_t>(16, inputs - i * 16),
                         .taps = taps_,
                         .weights = oihw + (o * 16 * inputs + i * 16) * taps_,
                         .output_step = inputs * taps_});
  }
}

}  // namespace lacuna::kernels
