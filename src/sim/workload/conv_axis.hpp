// One axis of a convolution: which input position an output position and a tap meet at. Everything is counted
// in closed form, so that a layer which a file only describes costs no more than its description.
#pragma once

#include <cstdint>
#include <vector>

namespace lacuna {

struct ConvAxis {
  std::int64_t in, out, kernel, stride, padding, dilation;

  std::int64_t source(std::int64_t output, std::int64_t tap) const {
    return output * stride - padding + tap * dilation;
  }

  // Those with first <= i < last.
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

}  // namespace lacuna
