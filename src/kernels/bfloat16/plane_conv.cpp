#include "kernels/bfloat16/plane_conv.hpp"

#include <algorithm>
#include <cstring>

namespace lacuna::kernels {
namespace {

// Steps over which a tap's sums stay in tiles: what they read (16 KB of planes and of pairs) stays in L1 for
// the other taps.
constexpr std::int64_t kStepsAtOnce = 8;

std::int64_t copies_of(const Grid& grid) {
  for (const GridTap& tap : grid.outputs.front().taps)
    if ((tap.column - grid.first_column) % 2 != 0) return 2;
  return 1;
}

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
      output_pairs_((dst.blocks() + 1) / 2),
      copies_(copies_of(grid_)) {
  const auto planes = static_cast<std::int64_t>(grid_.inputs.size());
  const std::int64_t row = grid_.pitch * 32 * (input_pairs_ * planes + output_pairs_);
  unit_rows_ = std::clamp<std::int64_t>(kElementsAtOnce / row, 1, grid_.all_rows());
  steps_ = (unit_rows_ * grid_.pitch + kTileDepth - 1) / kTileDepth;
  // An odd number of cache lines, so that 32 channels are not all in the same set of L1.
  plane_ = (steps_ | 1) * kTileDepth;
  const std::int64_t halo = (grid_.last_row - grid_.first_row) * grid_.pitch;
  pixels_ = (steps_ * kTileDepth + halo + grid_.last_column - grid_.first_column + 3) / 2 * 2;
  planes_ = AlignedFloats(output_pairs_ * 32 * plane_ / 2);
  pairs_ = AlignedFloats(planes * copies_ * input_pairs_ * 32 * pixels_ / 2);
  sums_ = AlignedFloats(input_pairs_ * output_pairs_ * taps_ * 1024);
  std::fill_n(planes_.data(), planes_.size(), 0.0F);
  std::fill_n(pairs_.data(), pairs_.size(), 0.0F);
}

// Gradients between rows and images are zero, so what the pairs have there, zeros of the padding or pixels of
// a neighbour, adds nothing.
void PlaneConv::convert_src(const float* src, std::int64_t row, std::int64_t block) {
  const std::int64_t rows = unit_rows_ + grid_.last_row - grid_.first_row;
  for (std::size_t p = 0; p < grid_.inputs.size(); ++p) {
    const GridPlane& plane = grid_.inputs[p];
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = row + grid_.first_row + r;
      const std::int64_t y = at < 0 ? plane.rows : at % grid_.rows;
      const bool empty = at >= grid_.all_rows() || y >= plane.rows;
      const float* pixels = empty ? nullptr
                                  : src + at / grid_.rows * src_.image_step + block * src_.block_step +
                                        (y * grid_.input_step.h + plane.row0) * src_.row_step +
                                        plane.column0 * src_.pixel_step;
      const std::int64_t start = r * grid_.pitch - grid_.first_column;
      for (std::int64_t copy = 0; copy < copies_; ++copy) {
        // The second copy begins with pixel 1 of the unit; no odd tap reads pixel 0.
        const std::int64_t skipped = start < copy ? 1 : 0;
        const std::int64_t place = start - copy + skipped;
        const std::int64_t columns = plane.columns - skipped;
        const bool odd = place % 2 != 0;
        Bfloat16* to = pairs(static_cast<std::int64_t>(p), copy, block) + place / 2 * 32;
        if (empty)
          std::memset(to, 0, static_cast<std::size_t>((columns + (odd ? 2 : 1)) / 2 * 32) * sizeof(Bfloat16));
        else if (columns > 0)
          kernels_.to_pairs(pixels + skipped * grid_.input_step.w * src_.pixel_step,
                            grid_.input_step.w * src_.pixel_step, columns, odd, to);
      }
    }
  }
}

void PlaneConv::convert_dst(const float* diff_dst, std::int64_t row, std::int64_t block) {
  const GridPlane& plane = grid_.outputs.front().plane;
  for (std::int64_t r = 0; r < unit_rows_; ++r) {
    Bfloat16* to = planes(block * 16) + r * grid_.pitch;
    const std::int64_t at = row + r;
    const std::int64_t y = at % grid_.rows;
    if (at >= grid_.all_rows() || y >= plane.rows) {
      for (int c = 0; c < 16; ++c)
        std::memset(to + c * plane_, 0, static_cast<std::size_t>(plane.columns) * sizeof(Bfloat16));
      continue;
    }
    kernels_.to_planes(
        diff_dst + at / grid_.rows * dst_.image_step + block * dst_.block_step + y * dst_.row_step,
        dst_.pixel_step, plane.columns, to, plane_);
  }
}

void PlaneConv::multiply(std::int64_t output_pair, std::int64_t input_pair, bool add) {
  float* all = sums(output_pair, input_pair);
  const Bfloat16* left = planes(output_pair * 32);
  for (std::int64_t step = 0; step < steps_; step += kStepsAtOnce)
    for (const GridTap& tap : grid_.outputs.front().taps) {
      const std::int64_t column = tap.column - grid_.first_column;
      const std::int64_t pair = ((tap.row - grid_.first_row) * grid_.pitch + column) / 2 + step * 16;
      const Bfloat16* right = pairs(tap.plane, column % 2, 2 * input_pair) + pair * 32;
      kernels_.accumulate({.planes = left + step * kTileDepth,
                           .plane = plane_,
                           .pairs = {right, right + pixels_ * 16},
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
      for (std::int64_t o = 0; o < output_pairs_; ++o)
        for (std::int64_t i = 0; i < input_pairs_; ++i) multiply(o, i, row > 0);
    }
    kernels_.end();
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t o = 0; o < dst_.blocks(); ++o)
      for (std::int64_t i = 0; i < src_.blocks(); ++i)
        kernels_.unpack({.sums = sums(o / 2, i / 2) + (o % 2 * 2 + i % 2) * 256,
                         .tap = 1024,
                         .outputs = std::min<std::int64_t>(16, outputs - o * 16),
                         .inputs = std::min<std::int64_t>(16, inputs - i * 16),
                         .taps = taps_,
                         .weights = oihw + (o * 16 * inputs + i * 16) * taps_,
                         .output_step = inputs * taps_});
  }
}

}  // namespace lacuna::kernels
