// The memory layout of TensorDash [TensorDash §3.4]: values in groups of 16 x 16, so that blocks of 16
// channels can be read as they are and, through a transposer, blocks of 16 positions too.
//
// A block is 16 consecutive channels at one position. A group is the blocks of 16 consecutive positions of a
// row. Groups start at multiples of 16 along the row and along the channels, and follow one another by
// channel, then by column, then by row (then by image). The parts of a group that lie outside the tensor are
// stored, as zeros.
#pragma once

#include <cstdint>

#include "base/ceil_div.hpp"

namespace lacuna {

struct GroupLayout {
  // Place of one value. For weights, `row` is the tap and `column` the filter: a transposer turns 16 filters
  // at one tap and channel into a block.
  struct Place {
    std::int64_t image = 0;
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::int64_t channel = 0;
  };

  std::int64_t images = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t channels = 1;
  std::int64_t side = 16;  // of a group; the lanes of a PE

  std::int64_t channel_groups() const { return ceil_div(channels, side); }
  std::int64_t column_groups() const { return ceil_div(columns, side); }
  std::int64_t groups() const { return images * rows * column_groups() * channel_groups(); }
  // Padding of the last groups included.
  std::int64_t stored_elements() const { return groups() * side * side; }

  // Offset of a value in memory, in values.
  std::int64_t offset(const Place& at) const {
    const std::int64_t line = at.image * rows + at.row;
    const std::int64_t group =
        (line * column_groups() + at.column / side) * channel_groups() + at.channel / side;
    return (group * side + at.column % side) * side + at.channel % side;
  }
};

}  // namespace lacuna
