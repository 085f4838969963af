// forward and input_grad in bfloat16: sums over channels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bfloat16/grid.hpp"
#include "kernels/bfloat16/pixel_view.hpp"
#include "kernels/bfloat16/tile_kernels.hpp"
#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {

class LineConv {
 public:
  // `backward`: input_grad.
  LineConv(const LayerShape& shape, bool backward, const PixelView& from, const PixelView& to,
           const TileKernels& kernels, int threads);

  std::int64_t packed_elements() const { return packed_; }
  void pack(const float* oihw, Bfloat16* packed);
  // `bias`: whole blocks of the result's channels.
  void run(const float* from, const Bfloat16* weights, const float* bias, bool relu, float* to);
  static constexpr std::int64_t kLinesAtOnce =
      512 * 1024 / 64;  // in L2 (2 MB) with the weights of 32 outputs

 private:
  // One of the planes that the result consists of.
  struct Output {
    std::vector<std::ptrdiff_t> offsets;  // of each step, in a thread's lines
    std::vector<std::int64_t> at;         // of each element of an image's grid in the result; negative: none
    std::int64_t weights = 0;             // of its first tile
  };
  void convert(const float* from, std::int64_t row, Bfloat16* lines) const;
  void multiply(const Output& output, std::int64_t row, const Bfloat16* lines, const Bfloat16* weights,
                const float* bias, bool relu, float* to) const;
  std::int64_t column_pairs() const { return (to_.blocks() + 1) / 2; }

  const TileKernels& kernels_;
  int threads_;
  bool backward_;
  std::int64_t taps_, output_step_;  // of oihw weights
  std::int64_t outputs_, inputs_;
  Grid grid_;
  PixelView from_, to_;
  std::int64_t depth_;        // blocks of 32 channels of `from`
  std::int64_t unit_rows_;    // rows of the grid at a time
  std::int64_t plane_lines_;  // of a plane and 32 channels in a thread's lines
  std::int64_t packed_ = 0;
  std::vector<Output> parts_;
  std::vector<AlignedFloats> lines_, scratch_;  // of each thread
  std::vector<std::vector<Bfloat16*>> tiles_;
};

}  // namespace lacuna::kernels
