// weight_grad in bfloat16: sums over the pixels of all images.
#pragma once

#include <cstdint>

#include "kernels/bfloat16/grid.hpp"
#include "kernels/bfloat16/pixel_view.hpp"
#include "kernels/bfloat16/tile_kernels.hpp"
#include "kernels/dispatch/tensors.hpp"

namespace lacuna::kernels {

class PlaneConv {
 public:
  PlaneConv(const LayerShape& shape, const PixelView& src, const PixelView& dst, const TileKernels& kernels,
            int threads);

  void run(const float* src, const float* diff_dst, float* oihw);
  std::int64_t workspace_floats() const { return planes_.size() + pairs_.size() + sums_.size(); }

 private:
  void convert_src(const float* src, std::int64_t row, std::int64_t block);
  void convert_dst(const float* diff_dst, std::int64_t row, std::int64_t block);
  void multiply(std::int64_t input_pair, std::int64_t output_pair, bool add);
  Bfloat16* planes() { return reinterpret_cast<Bfloat16*>(planes_.data()); }
  Bfloat16* pairs() { return reinterpret_cast<Bfloat16*>(pairs_.data()); }
  float* sums(std::int64_t input_pair, std::int64_t output_pair) {
    return sums_.data() + (input_pair * output_pairs_ + output_pair) * taps_ * 1024;
  }

  const TileKernels& kernels_;
  int threads_;
  Grid grid_;
  PixelView src_, dst_;
  std::int64_t taps_;
  std::int64_t input_pairs_, output_pairs_;  // of 16 channels
  std::int64_t unit_rows_;                   // rows of the grid at a time
  std::int64_t plane_;                       // elements of a channel of a plane in these
  std::int64_t steps_;                       // tiles of 32 pixels in these
  AlignedFloats planes_, pairs_, sums_;
};

}  // namespace lacuna::kernels
