// The bfloat16 convolutions by tiles: forward and input_grad as sums over channels, weight_grad as sums over
// the pixels of all images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/bfloat16/tile_kernels.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/layout/aligned_floats.hpp"
#include "kernels/layout/grid.hpp"

namespace lacuna::kernels {

// Lines of 64 bytes: in L2 (2 MB) with the weights of 32 outputs.
inline constexpr std::int64_t kLinesAtOnce = 512 * 1024 / 64;
// Elements of both tensors of weight_grad at a time. More means fewer passes over the sums (9 MB for 512 x
// 512 channels of 3x3), fewer that those of 32 channels stay in L2 for all others.
inline constexpr std::int64_t kElementsAtOnce = 4 << 20;

// Addresses of a tensor's pixels: blocked tensors, channels-last ones and the rows of linear layers differ
// in these steps alone.
struct PixelView {
  std::int64_t channels = 0;
  std::int64_t image_step = 0, row_step = 0, pixel_step = 0, block_step = 0;  // floats; a block: 16 channels

  std::int64_t blocks() const { return (channels + 15) / 16; }
};

class TileConv : public ConvKernel {
 public:
  const char* name() const final { return name_.c_str(); }

 protected:
  TileConv(const KernelConfig& config, const TileKernels& kernels);

  const TileKernels& kernels_;
  ConvOptions options_;
  LayerShape shape_;  // images of one pixel, and the rows of linear layers, are the pixels of one image
  PixelView src_, dst_;

 private:
  std::string name_;
};

std::unique_ptr<ConvKernel> make_line_conv(const KernelConfig& config, const TileKernels& kernels);
std::unique_ptr<ConvKernel> make_plane_conv(const KernelConfig& config, const TileKernels& kernels);

}  // namespace lacuna::kernels
