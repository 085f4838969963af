// Dense 1x1 convolutions behind the same interface, forward and input_grad, in single precision: blocked
// tensors, stride 1, no padding, no groups, AVX-512. About as fast as oneDNN's matrix product on plain
// tensors where its kernel for blocked ones is not (512 channels to 128 or 256, 28x28, on a shared core).
#pragma once

#include <cstdint>

#include "kernels/blocked.hpp"
#include "kernels/conv.hpp"
#include "kernels/dense1x1/tile_kernel.hpp"
#include "kernels/dispatch/tensors.hpp"

namespace lacuna::kernels {

class Dense1x1Conv {
 public:
  // ConvError for what it does not do.
  Dense1x1Conv(const LayerShape& shape, const ConvOptions& options);

  const char* name() const { return "dense1x1 avx512"; }
  // `same_weights`: plain ones that are those of the run before, and need not be packed again.
  void run(const ConvTensors& tensors, bool same_weights = false);

  std::int64_t packed_floats() const { return parts() * kTileBlocks * kLanes * from_.blocks() * kLanes; }
  void pack(const float* oihw, float* packed) const;

 private:
  struct Pass;
  std::int64_t parts() const { return (to_.blocks() + kTileBlocks - 1) / kTileBlocks; }
  std::int64_t tiles_per_image() const { return (from_.pixels() + kTilePixels - 1) / kTilePixels; }
  void run_range(const Pass& pass, std::int64_t tile, std::int64_t last_tile, std::int64_t part,
                 std::int64_t last_part) const;

  ConvOptions options_;
  const PixelTiles* tiles_;
  BlockedShape from_, to_;  // what is read and what is written
  AlignedFloats packed_, bias_;
};

}  // namespace lacuna::kernels
