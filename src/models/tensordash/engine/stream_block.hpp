// The streams of many row groups, laid out for the vector engine: 16 lanes are one 16-bit element, the rows
// of a group lie side by side, and the steps of a group are contiguous, so that a group's window is one short
// load.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/workload/operand_streams.hpp"

namespace lacuna::tensordash {

class StreamBlock {
 public:
  static constexpr int kLanes = 16;
  // Zero steps after each stream: a window of up to 8 steps may begin at the last step, slide by 8 and still
  // be loaded whole.
  static constexpr std::int64_t kTail = 16;

  // `rows` streams per group; slots for the next power of two, the rest stay zero and never limit.
  StreamBlock(std::int64_t rows, std::int64_t steps);

  std::int64_t rows() const { return rows_; }
  std::int64_t slots() const { return slots_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t groups() const { return groups_; }
  std::int64_t pitch() const { return pitch_; }  // elements from group to group
  const std::uint16_t* group(std::int64_t g) const { return words_.get() + g * pitch_; }

  // Loads groups [first_group, first_group + groups) of a family of streams with 16 lanes.
  void load(const OperandStreams& streams, std::int64_t first_group, std::int64_t groups);
  // Loads every PE of one group of `rows` against groups of `columns`: PE (r, c) sees the pairs in which both
  // are effectual, and sits in row r * columns.rows() + c of this block's groups.
  void load_pairs(const StreamBlock& rows, std::int64_t row_group, const StreamBlock& columns);

 private:
  std::uint16_t* group(std::int64_t g) { return words_.get() + g * pitch_; }
  void reserve(std::int64_t groups);
  std::uint16_t* element(std::int64_t stream, std::int64_t step) {  // stream counted from the block's first
    return group(stream / rows_) + step * slots_ + stream % rows_;
  }
  void load_channels(const OperandStreams& streams, std::int64_t first, std::int64_t count);
  void load_transposed(const OperandStreams& streams, std::int64_t first, std::int64_t count);

  struct Free {
    void operator()(std::uint16_t* words) const;
  };
  std::int64_t rows_, slots_, steps_, pitch_;
  std::int64_t groups_ = 0;
  std::int64_t capacity_ = 0;  // groups
  std::unique_ptr<std::uint16_t[], Free> words_;
};

}  // namespace lacuna::tensordash
