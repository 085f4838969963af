// Winograd's convolution F(4x4, 3x3): 3x3, stride 1, any padding, no groups, single precision. Transforms and
// the 36 matrix products of some tiles at a time, so that what lies between them stays in the caches.
#pragma once

#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/winograd/tile_grid.hpp"

namespace lacuna::kernels {

// What the operations have in common. The order of weights: [part of at most product_blocks of the others]
// [channel][tap][16 * blocks], and as elements [element][part][channel][16 * blocks].
class WinogradBase : public SparseConv {
 public:
  virtual std::int64_t elements_floats() const = 0;  // of a run, from scratchpad()

 protected:
  WinogradBase(const KernelConfig& config, bool turned);

  // Applies a transform of nine taps to every channel and block of others, inside a parallel region.
  void each_tap(void (*transform)(const WeightTaps&), float* taps, float* elements) const;
  std::int64_t part_offset(const Part& part) const { return part.first * channels_ * kLanes; }
  float* elements() const;

  const WinogradLoops& loops_;
  std::int64_t channels_;  // of the checked tensor, in whole blocks
  TileElements weight_elements_;
};

std::unique_ptr<WinogradBase> make_winograd_weight_grad(const KernelConfig& config);

// Bytes that run() asks scratchpad() for; 0 if there is no Winograd for this shape.
std::size_t winograd_scratchpad_bytes(const LayerShape& shape, const ConvOptions& options);

}  // namespace lacuna::kernels
