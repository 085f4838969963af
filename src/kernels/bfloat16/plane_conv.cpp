// weight_grad in bfloat16: sums over the pixels of all images.
#include <algorithm>
#include <cstring>

#include "kernels/bfloat16/tile_conv.hpp"

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

// Gradients are the planes, the same for all taps; activations the pairs. A tap that is an even number of
// pixels away reads whole pairs; for the others there is a second copy, paired from the second pixel on. So
// every row of a tile is one cache line.
class PlaneConv final : public TileConv {
 public:
  PlaneConv(const KernelConfig& config, const TileKernels& kernels)
      : TileConv(config, kernels),
        threads_(options_.threads),
        grid_(forward_grid(shape_, true)),
        taps_(shape_.taps()),
        input_pairs_((src_.blocks() + 1) / 2),
        output_pairs_((dst_.blocks() + 1) / 2),
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

  // Packed gradients are oihw.
  std::int64_t packed_floats() const override { return shape_.w_elements(); }
  void pack(const float* oihw, float* packed) override { std::copy_n(oihw, packed_floats(), packed); }
  void unpack(const float* packed, float* oihw) override { std::copy_n(packed, packed_floats(), oihw); }

  void run(const ConvTensors& t, const KernelMemory&) override {
    const std::int64_t inputs = src_.channels, outputs = dst_.channels;
#pragma omp parallel num_threads(threads_)
    {
      kernels_.begin();
      for (std::int64_t row = 0; row < grid_.all_rows(); row += unit_rows_) {
#pragma omp for schedule(dynamic)
        for (std::int64_t block = 0; block < src_.blocks() + dst_.blocks(); ++block)
          block < src_.blocks() ? convert_src(t.src, row, block)
                                : convert_dst(t.diff_dst, row, block - src_.blocks());
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
                           .weights = t.diff_weights + (o * 16 * inputs + i * 16) * taps_,
                           .output_step = inputs * taps_});
    }
  }

 private:
  Bfloat16* planes(std::int64_t channel) {
    return reinterpret_cast<Bfloat16*>(planes_.data()) + channel * plane_;
  }
  Bfloat16* pairs(std::int64_t plane, std::int64_t copy, std::int64_t block) {
    return reinterpret_cast<Bfloat16*>(pairs_.data()) +
           ((plane * copies_ + copy) * input_pairs_ * 2 + block) * pixels_ * 16;
  }
  float* sums(std::int64_t output_pair, std::int64_t input_pair) {
    return sums_.data() + (output_pair * input_pairs_ + input_pair) * taps_ * 1024;
  }

  // Gradients between rows and images are zero, so what the pairs have there, zeros of the padding or pixels
  // of a neighbour, adds nothing.
  void convert_src(const float* src, std::int64_t row, std::int64_t block) {
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
            std::memset(to, 0,
                        static_cast<std::size_t>((columns + (odd ? 2 : 1)) / 2 * 32) * sizeof(Bfloat16));
          else if (columns > 0)
            kernels_.to_pairs(pixels + skipped * grid_.input_step.w * src_.pixel_step,
                              grid_.input_step.w * src_.pixel_step, columns, odd, to);
        }
      }
    }
  }

  void convert_dst(const float* diff_dst, std::int64_t row, std::int64_t block) {
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

  void multiply(std::int64_t output_pair, std::int64_t input_pair, bool add) {
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

  int threads_;
  Grid grid_;
  std::int64_t taps_;
  std::int64_t input_pairs_, output_pairs_;  // of 16 channels
  std::int64_t copies_;                      // of the pairs: 1 or 2
  std::int64_t unit_rows_;                   // rows of the grid at a time
  std::int64_t steps_;                       // tiles of 32 pixels in these
  std::int64_t plane_;                       // elements of a channel of the gradients in these
  std::int64_t pixels_;                      // of the activations in these
  AlignedFloats planes_, pairs_, sums_;
};

}  // namespace

std::unique_ptr<ConvKernel> make_plane_conv(const KernelConfig& config, const TileKernels& kernels) {
  return std::make_unique<PlaneConv>(config, kernels);
}

}  // namespace lacuna::kernels
