// Base of the kernels that compute each tap as a sum over channels from one pixel to another: parts of the
// outputs, whose sums stay in registers, and the order of weights that goes with them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

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
  // Where the weights of a tap and a part of the outputs begin, from this block of channels on.
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
