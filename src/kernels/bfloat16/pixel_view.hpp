// Where the pixels of a tensor are: blocked tensors, channels-last ones and the rows of linear layers differ
// in these steps alone.
#pragma once

#include <cstdint>

namespace lacuna::kernels {

struct PixelView {
  std::int64_t channels = 0;
  std::int64_t image_step = 0, row_step = 0, pixel_step = 0,
               block_step = 0;  // floats; a block is 16 channels

  std::int64_t blocks() const { return (channels + 15) / 16; }
};

}  // namespace lacuna::kernels
