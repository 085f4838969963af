// Axes of a convolution, and sums over the windows of its planes.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna {

// One axis: which input position an output position and a tap meet at. Everything is counted in closed form,
// so that a layer which a file only describes costs no more than its description.
struct ConvAxis {
  std::int64_t in, out, kernel, stride, padding, dilation;

  std::int64_t source(std::int64_t output, std::int64_t tap) const {
    return output * stride - padding + tap * dilation;
  }

  // Positions i with first <= i < last.
  struct Range {
    std::int64_t first, last;
    std::int64_t size() const { return last - first; }
  };
  // Outputs to which the tap brings an input position that exists.
  Range outputs_of(std::int64_t tap) const;
  // Taps which bring the output an input position that exists.
  Range taps_of(std::int64_t output) const;

  // (output, tap) pairs that meet at an input position that exists.
  std::int64_t pairs() const;
  // The same for each input position, output or tap by itself; each adds up to pairs().
  std::vector<std::int64_t> pairs_by_input() const;
  std::vector<std::int64_t> pairs_by_output() const;
  std::vector<std::int64_t> pairs_by_tap() const;

  // Input positions whose sub-kernel contains the tap, whether or not an output lies there: those of one
  // phase of the stride.
  std::int64_t phase_positions(std::int64_t tap) const;
  // The sum over all taps.
  std::int64_t phase_pairs() const;
};

// Sums over windows of a plane in four additions a window, whatever its size. Each position holds itself and
// those before it in steps, along both axes.
class RunningSums {
 public:
  RunningSums(Size2 plane, Size2 step)
      : plane_(plane), step_(step), sums_(static_cast<std::size_t>(plane.h * plane.w)) {}

  // The plane's values, row by row; then close().
  std::int64_t* values() { return sums_.data(); }
  void close() {
    for (std::int64_t y = 0; y < plane_.h; ++y) {
      std::int64_t* row = sums_.data() + y * plane_.w;
      for (std::int64_t x = step_.w; x < plane_.w; ++x) row[x] += row[x - step_.w];
      if (y < step_.h) continue;
      const std::int64_t* above = row - step_.h * plane_.w;
      for (std::int64_t x = 0; x < plane_.w; ++x) row[x] += above[x];
    }
  }
  // Sum of the positions from first to last in steps, both included.
  std::int64_t window(Size2 first, Size2 last) const {
    return at(last.h, last.w) - at(first.h - step_.h, last.w) - at(last.h, first.w - step_.w) +
           at(first.h - step_.h, first.w - step_.w);
  }

 private:
  std::int64_t at(std::int64_t y, std::int64_t x) const {
    return y < 0 || x < 0 ? 0 : sums_[static_cast<std::size_t>(y * plane_.w + x)];
  }
  Size2 plane_, step_;
  std::vector<std::int64_t> sums_;
};

}  // namespace lacuna
