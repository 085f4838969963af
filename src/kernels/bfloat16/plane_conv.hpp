// weight_grad in bfloat16: sums over the pixels of all images.
#pragma once

#include <cstdint>

#include "kernels/bfloat16/grid.hpp"
#include "kernels/bfloat16/pixel_view.hpp"
#include "kernels/bfloat16/tile_kernels.hpp"
#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {

// Gradients are the planes, the same for all taps; activations the pairs. A tap that is an even number of
// pixels away reads whole pairs; for the others there is a second copy, paired from the second pixel on. So
// every row of a tile is one cache line.
class PlaneConv {
 public:
  PlaneConv(const LayerShape& shape, const PixelView& src, const PixelView& dst, const TileKernels& kernels,
            int threads);

  void run(const float* src, const float* diff_dst, float* oihw);
  // Elements of both tensors at a time. More means fewer passes over the sums (9 MB for 512 x 512 channels of
  // 3x3), fewer that those of 32 channels stay in L2 for all others.
  static constexpr std::int64_t kElementsAtOnce = 4 << 20;

 private:
  void convert_src(const float* src, std::int64_t row, std::int64_t block);
  void convert_dst(const float* diff_dst, std::int64_t row, std::int64_t block);
  void multiply(std::int64_t output_pair, std::int64_t input_pair, bool add);
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

  const TileKernels& kernels_;
  int threads_;
  Grid grid_;
  PixelView src_, dst_;
  std::int64_t taps_;
  std::int64_t input_pairs_, output_pairs_;  // of 16 channels
  std::int64_t copies_;                      // of the pairs: 1 or 2
  std::int64_t unit_rows_;                   // rows of the grid at a time
  std::int64_t steps_;                       // tiles of 32 pixels in these
  std::int64_t plane_;                       // elements of a channel of the gradients in these
  std::int64_t pixels_;                      // of the activations in these
  AlignedFloats planes_, pairs_, sums_;
};

}  // namespace lacuna::kernels
